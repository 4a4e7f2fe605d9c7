"""Takes the pictures of the report and of `propense serve` for the guides, by Chromium: docs/_static/*.webp.

The build of the site has no browser, so the pictures are kept. To take them again after a change of the pages:
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
    """Fit the table of the guide on the local page, and take pictures on the way."""
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
                browser.find_element(By.CSS_SELECTOR, "#columns button.main").click()
                wait_for(browser, By.CSS_SELECTOR, ".headline .lead")
                keep(browser, "serve")
                browser.find_element(By.PARTIAL_LINK_TEXT, "Open the report").click()
                WebDriverWait(browser, 30).until(lambda each: len(each.window_handles) == 2)
                browser.switch_to.window(browser.window_handles[1])
                wait_for(browser, By.TAG_NAME, "h1")
                keep(browser, "report")
        finally:
            browser.quit()
            os.chdir(DOCS)


if __name__ == "__main__":
    main()
