"""Walks through the built site in Chromium and lists what is wrong with it. `make walk` runs it after `make docs`.

Every page is opened once and looked at in three widths. A fault is a page that scrolls sideways, a header that wraps, a
name that is cut off, a formula that is not set, an image that does not show, an error on the console, a request to
another host, a link or an anchor that leads nowhere, and a search whose first hit is not the page it should be.

The exit status is 0 if there is no fault, 1 if there is one, and 3 if there is no browser on this machine.
"""

import re
import shutil
import sys
import tempfile
import threading
import time
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit

BUILT = Path(__file__).parent / "_build"
WIDTHS = (1400, 1280, 390)
# What a reader may type, and the pages that answer; the first hit must be one of them.
SEARCHES = {
    "propensity": ("glossary", "guides/known_propensity"),
    "prevalence": ("guides/prevalence",),
    "review list": ("guides/queue", "guides/table"),
}

# What is wrong with the page that is open, at the width it has now.
LOOK = r"""
const faults = [], width = document.documentElement.clientWidth;
const shown = each => each.checkVisibility({checkVisibilityCSS: true}) && each.getClientRects().length > 0;
const named = each => each.tagName.toLowerCase()
  + ' "' + each.textContent.trim().replace(/\s+/g, ' ').slice(0, 50) + '"';

if (document.scrollingElement.scrollWidth > innerWidth) {
  const wide = [...document.querySelectorAll('.bd-article *')].filter(each => shown(each)
    && each.getBoundingClientRect().right > innerWidth && !each.closest('pre, table, .math, mjx-container'));
  faults.push(`scrolls sideways to ${document.scrollingElement.scrollWidth} px: ` + wide.slice(0, 2).map(named));
}

const header = document.querySelector('.bd-header');
if (header) {
  const frame = header.getBoundingClientRect();
  for (const each of header.querySelectorAll('a, button')) {
    const box = each.getBoundingClientRect();
    if (shown(each) && !each.closest('.dropdown-menu')
        && (box.left < -1 || box.right > width + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1))
      faults.push('the header clips ' + named(each));
  }
  const items = [...header.querySelectorAll('.navbar-nav > li')].filter(shown);
  const tools = [...header.querySelectorAll('.search-button-field, .theme-switch-button')].filter(shown);
  const boxes = [...items, ...tools].map(each => each.getBoundingClientRect());
  if (Math.max(...boxes.map(each => each.top)) >= Math.min(...boxes.map(each => each.bottom)))
    faults.push('the header has a second row');
  for (const each of items) {
    const link = each.querySelector('a, button'), range = document.createRange();
    range.selectNodeContents(link);
    if (range.getBoundingClientRect().height > 1.9 * parseFloat(getComputedStyle(link).fontSize))
      faults.push('the header wraps ' + named(link));
  }
}

// Names, from the text itself to the first box around it that hides or scrolls what is too long.
const names = '.bd-sidebar a, .bd-sidebar-secondary a, h1, h2, h3, .sd-card-title, dt.sig .sig-name, '
  + 'table.autosummary td:first-child a';
for (const each of document.querySelectorAll(names)) {
  if (!shown(each)) continue;
  const range = document.createRange();
  range.selectNodeContents(each);
  // The link that a heading shows under the mouse is not part of its text.
  const mark = each.querySelector('.headerlink');
  if (mark) range.setEndBefore(mark);
  const text = range.getBoundingClientRect();
  for (let box = each; box && box !== document.body; box = box.parentElement) {
    const kind = getComputedStyle(box).overflowX;
    if (kind === 'visible') continue;
    const frame = box.getBoundingClientRect();
    if (frame.width > 0 && (text.right > frame.right + 1 || text.left < frame.left - 1))
      faults.push('cut off: ' + named(each));
    break;
  }
}

for (const each of document.querySelectorAll('.math'))
  if (!each.querySelector('mjx-container')) faults.push('formula not set: ' + named(each));
for (const each of document.querySelectorAll('mjx-merror, [data-mjx-error]'))
  faults.push('formula in error: ' + named(each));
for (const each of document.querySelectorAll('.bd-article p, .bd-article li, .bd-article td, .bd-article h2')) {
  const copy = each.cloneNode(true);
  for (const code of copy.querySelectorAll('pre, code, .math, mjx-container')) code.remove();
  const raw = copy.textContent.match(/\$[^$\s][^$\n]*\$/);
  if (raw) faults.push('formula as text: ' + raw[0]);
  const mark = copy.textContent.match(/\{\.[\w-]+\}/);
  if (mark) faults.push('mark-up as text: ' + mark[0]);
}
for (const each of document.querySelectorAll('img'))
  if (shown(each) && each.complete && each.naturalWidth === 0)
    faults.push('image not shown: ' + each.getAttribute('src'));
for (const each of performance.getEntriesByType('resource'))
  if (/^https?:/.test(each.name) && new URL(each.name).host !== location.host)
    faults.push('asks another host: ' + each.name);
return faults;
"""

# Pages are ready when they are loaded and their formulas, if any, are set.
READY = r"""
const done = arguments[arguments.length - 1];
for (const each of document.querySelectorAll('img[loading=lazy]')) each.loading = 'eager';
const loaded = document.readyState === 'complete' ? Promise.resolve()
  : new Promise(go => addEventListener('load', go));
loaded.then(() => document.querySelector('.math') && window.MathJax ? MathJax.startup.promise : null)
  .then(() => Promise.all([...document.images].filter(each => !each.complete)
    .map(each => new Promise(go => { each.onload = each.onerror = go; }))))
  .then(() => done());
"""

FIRST_HIT = "const a = document.querySelector('#search-results ul.search > li a'); return a && a.getAttribute('href');"


class Page(HTMLParser):
    """The anchors of a page, and what it links to."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Called by the parser."""
        attrs = dict(attrs)
        self.anchors.update(attrs[name] for name in ("id", "name") if attrs.get(name))
        self.links.update(attrs[name] for name in ("href", "src") if attrs.get(name))


def names(folder):
    """The pages of the site. Templates, which the theme leaves among its files, are not pages."""
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
    return [name for name in found if not name.startswith("_static/")]


def broken_links(folder):
    """Faults by page. Links within the site are followed; those that leave it must only have the form of an address."""
    pages = {name: Page((folder / name).read_text()) for name in names(folder)}
    faults = {}
    for name, page in pages.items():
        for link in sorted(page.links):
            if re.match(r"(data|mailto|javascript):", link):
                continue
            if "//" in link:
                if not re.fullmatch(r"https?://[\w.-]+\.[a-z]{2,}(/\S*)?", link):
                    faults.setdefault(name, []).append(f"not an address: {link}")
                continue
            parts = urlsplit(urljoin(name, link))
            there = unquote(parts.path).removeprefix("/") or name
            if not (folder / there).is_file():
                faults.setdefault(name, []).append(f"broken link: {link}")
            elif parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].anchors:
                faults.setdefault(name, []).append(f"no such anchor: {link}")
    return faults


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *args):
        """Called for each request."""


def serve(folder):
    """A server of the folder in a thread of its own, and its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}/"


def start(profile):
    """A browser without a window."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    # No name is looked up: a request to another host fails, and is an error on the console.
    away = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    for each in ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", away):
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.page_load_strategy = "eager"
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    browser.set_script_timeout(30)
    return browser


def resize(browser, width):
    """Windows of a headless browser are not narrower than 500 px, but the page can be."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def console(browser):
    """What the console says since it was last asked."""
    return [f"console: {each['message'][:200]}" for each in browser.get_log("browser") if each["level"] == "SEVERE"]


def look(browser, address):
    """The faults of one page."""
    resize(browser, WIDTHS[0])
    browser.get(address)
    browser.execute_async_script(READY)
    faults = []
    for width in WIDTHS:
        resize(browser, width)
        faults += [f"at {width} px: {each}" for each in dict.fromkeys(browser.execute_script(LOOK))]
    return faults + console(browser)


def search(browser, address, words):
    """The page that the search names first, within ten seconds."""
    browser.get(f"{address}search.html?q={quote(words)}")
    hit, until = None, time.monotonic() + 10
    # Hits appear one by one, best first.
    while hit is None and time.monotonic() < until:
        time.sleep(0.1)
        hit = browser.execute_script(FIRST_HIT)
    return urlsplit(hit or "").path.removesuffix(".html")


def walk(folder=BUILT, only=""):
    """All faults, by page."""
    faults = broken_links(folder)
    server, address = serve(folder)
    with tempfile.TemporaryDirectory() as profile:
        browser = start(profile)
        try:
            for name in names(folder):
                if re.search(only, name) and (seen := look(browser, address + name)):
                    faults.setdefault(name, []).extend(seen)
            for words, right in SEARCHES.items():
                if (hit := search(browser, address, words)) not in right:
                    faults.setdefault("search.html", []).append(f'the first hit for "{words}" is {hit or "none"}')
        finally:
            browser.quit()
            server.shutdown()
    return faults


def main(only=""):
    """Print the faults of pages whose name has the pattern; the exit status."""
    if not (BUILT / "index.html").is_file():
        print("There is no site to walk through: run `make docs` first.", file=sys.stderr)
        return 2
    if missing := [name for name in ("chromium", "chromedriver") if not shutil.which(name)]:
        print(f"The walk is left out: this machine has no {' and no '.join(missing)}.", file=sys.stderr)
        return 3
    began = time.monotonic()
    faults = walk(only=only)
    for name, each in faults.items():
        print(name, *each, sep="\n  ")
    pages = sum(bool(re.search(only, name)) for name in names(BUILT))
    count = sum(map(len, faults.values()))
    print(f"{pages} pages at {', '.join(map(str, WIDTHS))} px in {time.monotonic() - began:.0f} s: {count} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
