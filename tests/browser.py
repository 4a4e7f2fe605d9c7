"""Pages as a browser sees them."""

import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not on this machine")
SIZES = [pytest.param("1200,900", id="desk"), pytest.param("390,800", id="phone")]

PROBE = """
<script>
window.problems = [];
window.addEventListener("error", (event) => problems.push(event.message));
window.addEventListener("load", () => {
  const seen = (() => { %s })();
  const wide = document.documentElement.scrollWidth > window.innerWidth;
  document.title = "seen" + JSON.stringify({problems, wide, ...seen});
});
</script>
"""


def seen_in_browser(page, folder, size, probe):
    """What the script `probe` returns in the loaded page, with its errors and whether it is wider than the window."""
    (folder / "page.html").write_text(page.replace("<head>", "<head>" + PROBE % probe), encoding="utf-8")
    result = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={size}",
            "--virtual-time-budget=5000",
            "--dump-dom",
            f"file://{folder / 'page.html'}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HOME": str(folder)},
    )
    title = re.search(r"<title>seen(\{.*?\})</title>", result.stdout)
    assert title, result.stderr[-500:]
    return json.loads(title.group(1))


class Outline(HTMLParser):
    """Counts elements, and checks that each is closed where it should be."""

    def __init__(self):
        super().__init__()
        self.open, self.counts, self.addresses = [], {}, []

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.addresses += [value for name, value in attributes if name in ("src", "href", "xlink:href")]
        if tag not in ("meta", "br", "link", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def asked_of_the_network(page):
    """The addresses that a page would load from elsewhere."""
    outline = Outline()
    outline.feed(page)
    links = [address for address in outline.addresses if not address.startswith("#")]
    return links + re.findall(r"@import.*|url\((?!#).*", page)
