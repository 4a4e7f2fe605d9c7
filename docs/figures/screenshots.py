"""Takes the picture of `propense serve` for its guide, by Chromium: docs/_static/serve_columns.webp.

The build of the site has no browser, so the picture is kept. To take it again after a change of the page:
python docs/figures/screenshots.py
"""

import sys

# As in hooks.py: this folder holds a queue.py.
sys.path.pop(0)

import io
import os
import re
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.ui import WebDriverWait

from propense.ui.server import running

DOCS = Path(__file__).resolve().parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def open_browser(profile):
    """Chromium without a window, 1 100 pixels wide."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    size = "--window-size=1100,900", "--hide-scrollbars"
    for each in ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", *size):
        options.add_argument(each)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def wait_for(browser, *where):
    """The element, once it is there."""
    return WebDriverWait(browser, 180).until(lambda each: each.find_element(*where))


def keep(browser, name):
    """Write what the window shows."""
    picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    picture.save(DOCS / "_static" / f"{name}.webp", quality=80, method=6)


def main():
    """Map the columns of the table of the guide on the local page, and take a picture."""
    page = (DOCS / "guides" / "table.md").read_text()
    code = re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        exec(code, {})
        browser = open_browser(Path(folder, "profile"))
        try:
            with running(Path(folder, "work"), port=0, limit=2 << 20) as server:
                browser.get(server.url)
                wait_for(browser, By.ID, "table").send_keys(str(Path(folder, "patients.csv")))
                browser.find_element(By.CSS_SELECTOR, "#upload button").click()
                Select(wait_for(browser, By.ID, "label")).select_by_visible_text("reported")
                Select(browser.find_element(By.ID, "id")).select_by_visible_text("patient")
                keep(browser, "serve_columns")
        finally:
            browser.quit()
            os.chdir(DOCS)


if __name__ == "__main__":
    main()
