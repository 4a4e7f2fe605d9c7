"""The page of a fit in a browser: slider, sorting, keyboard, colours, paper, and everything without scripts."""

import os
import re
import shutil
from pathlib import Path

import pytest

from browser import CHROMIUM, needs_browser
from propense.report import gather_fit, render
from propense.report.compare import gather_comparison
from propense.tables import compare_table, fit_table, list_rows

webdriver = pytest.importorskip("selenium.webdriver")
DRIVER = shutil.which("chromedriver")
# Where npm has put axe-core, which checks pages for what keeps people from using them.
AXE = [Path(each) / "axe-core" / "axe.min.js" for each in (os.environ.get("AXE_HOME", "node_modules"), "node_modules")]
pytestmark = [
    pytest.mark.slow,
    needs_browser,
    pytest.mark.skipif(DRIVER is None, reason="chromedriver is not on this machine"),
    pytest.mark.usefixtures("few_simulations"),
]


@pytest.fixture(scope="module")
def found(clinic):
    hostile = '</script><img src=x onerror="document.title=1">'
    odd = clinic.rename_columns([*clinic.column_names[:-2], hostile, "reported"])
    return fit_table(odd, "reported", id="patient", propensity_features=["sex"], scar_test=False)


@pytest.fixture(scope="module")
def address(found, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "page.html"
    render(gather_fit(found, "clinic.csv")).write(file)
    return file.as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for each in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(each)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def opened(browser, address, width=1280, colours="light", scripts=True):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"media": "", "features": [{"name": "prefers-color-scheme", "value": colours}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
    browser.get(address)
    return browser


def one(browser, selector):
    return browser.find_element("css selector", selector)


def press(browser, selector, *keys):
    one(browser, selector).send_keys(*keys)


def test_the_slider_moves_the_words_the_mark_and_the_list(browser, address):
    from selenium.webdriver.common.keys import Keys

    opened(browser, address)
    said, mark = one(browser, "#capacity-said"), one(browser, "#capacity-mark")
    before, left = said.text, mark.get_attribute("style")
    assert before.startswith("Review the first 50 rows: ")
    listed = browser.find_elements("css selector", "#review-list tbody tr")
    assert sum("beyond" in line.get_attribute("class") for line in listed) == 50
    press(browser, "#capacity-slider", Keys.HOME)
    assert said.text.startswith("Review the first row: ")
    assert one(browser, "#capacity-slider").get_attribute("aria-valuetext") == "1 row"
    assert sum("beyond" in line.get_attribute("class") for line in listed) == 99
    press(browser, "#capacity-slider", Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert said.text.startswith("Review the first 3 rows: ")
    press(browser, "#capacity-slider", Keys.END)
    assert sum("beyond" in line.get_attribute("class") for line in listed) == 0
    assert said.text != before
    assert mark.get_attribute("style") != left
    # A drag with the mouse, too.
    track = one(browser, "#capacity-slider")
    webdriver.ActionChains(browser).move_to_element(track).click().perform()
    assert int(re.search(r"first ([\d,]+) rows", said.text)[1].replace(",", "")) > 1
    assert browser.get_log("browser") == []


def test_a_click_and_a_key_sort_the_list(browser, address, found):
    from selenium.webdriver.common.keys import Keys

    opened(browser, address)
    ids = [f"p{row}" for row in list_rows(found, 100).rows]

    def column(place):
        lines = browser.find_elements("css selector", "#review-list tbody tr")
        return [line.find_elements("css selector", "th, td")[place].text for line in lines]

    assert column(0) == ids
    heads = browser.find_elements("css selector", "#review-list thead button")
    heads[0].click()
    assert column(0) == sorted(ids)
    heads[0].click()
    assert column(0) == sorted(ids, reverse=True)
    heads[1].send_keys(Keys.ENTER)
    assert column(1) == [str(i) for i in range(1, 101)]
    sorts = [head.find_element("xpath", "..").get_attribute("aria-sort") for head in heads[:2]]
    assert sorts == [None, "ascending"]
    # Rows keep their rank, so that the slider dims the same ones in any order.
    heads[1].click()
    lines = browser.find_elements("css selector", "#review-list tbody tr")
    assert "beyond" in lines[0].get_attribute("class")
    assert "beyond" not in lines[-1].get_attribute("class")


def test_everything_can_be_read_with_scripts_off(browser, address):
    opened(browser, address, scripts=False)
    words = one(browser, "body").text
    for each in ("At least ", "Review the first 50 rows: ", "How many rows to review, by", "why it may be positive"):
        assert each in words
    assert not one(browser, "#capacity-slider").is_displayed()
    assert len(browser.find_elements("css selector", "#review-list tbody tr")) == 100
    one(browser, "#groups summary").click()
    assert "estimated positives" in one(browser, "#groups").text
    opened(browser, address)


def test_hostile_names_are_names(browser, address):
    opened(browser, address)
    assert browser.title == "clinic.csv"
    assert browser.find_elements("css selector", "img") == []
    assert "<img src=x" in one(browser, "#groups").get_attribute("textContent")


COLOURS = """
const style = (selector, name) => getComputedStyle(document.querySelector(selector))[name];
return [style("body", "backgroundColor"), style("body", "color"), style(".curve .middle", "stroke"),
        style(".bar .is-labelled", "backgroundColor")];
"""


def test_charts_follow_the_colours_of_the_page(browser, address):
    light = opened(browser, address).execute_script(COLOURS)
    dark = opened(browser, address, colours="dark").execute_script(COLOURS)
    assert all(one != other for one, other in zip(light, dark, strict=True))


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_scrolls_sideways_and_letters_stay_legible(browser, address, width):
    opened(browser, address, width)
    browser.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    size = "(each) => parseFloat(getComputedStyle(each).fontSize)"
    smallest = f"return Math.min(...[...document.querySelectorAll('body *')].map({size}))"
    assert browser.execute_script(smallest) >= 12


def test_folded_tables_are_open_on_paper(browser, address):
    opened(browser, address)
    assert not browser.execute_script("return document.querySelector('#groups details').open")
    shown = "return document.querySelector('#groups details table').checkVisibility({contentVisibilityAuto: true})"
    assert not browser.execute_script(shown)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    height = "return document.querySelector('#groups details table').getBoundingClientRect().height"
    assert browser.execute_script(height) > 100
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script("return document.querySelector('#groups details').open")
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert not browser.execute_script("return document.querySelector('#groups details').open")
    heads = "return [...document.querySelectorAll('h2, h3, caption')].map((e) => getComputedStyle(e).breakAfter)"
    assert set(browser.execute_script(heads)) == {"avoid"}
    opened(browser, address)


@pytest.mark.skipif(not any(each.is_file() for each in AXE), reason="axe-core is not on this machine")
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_keeps_anybody_from_using_the_page(browser, address, width, colours):
    """No finding of axe that is serious or critical: contrast, names of controls, landmarks, keyboard."""
    opened(browser, address, width, colours)
    browser.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    browser.execute_script(next(each for each in AXE if each.is_file()).read_text(encoding="utf-8"))
    found = browser.execute_async_script(
        "axe.run().then((r) => arguments[0](r.violations.map((each) => [each.id, each.impact])))"
    )
    assert [each for each in found if each[1] in ("serious", "critical")] == []


@pytest.mark.skipif(not any(each.is_file() for each in AXE), reason="axe-core is not on this machine")
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_nothing_keeps_anybody_from_using_the_page_of_a_comparison(browser, clinic, tmp_path, colours):
    file = tmp_path / "comparison.html"
    compared = compare_table(clinic, "reported", id="patient", methods=["naive", "jerm", "pu-linear"])
    render(gather_comparison(compared, "x")).write(file)
    opened(browser, file.as_uri(), 390, colours)
    browser.execute_script(next(each for each in AXE if each.is_file()).read_text(encoding="utf-8"))
    found = browser.execute_async_script(
        "axe.run().then((r) => arguments[0](r.violations.map((each) => [each.id, each.impact])))"
    )
    assert [each for each in found if each[1] in ("serious", "critical")] == []
    # Drawn on white, whatever the colours of the page.
    assert one(browser, ".drawing svg").value_of_css_property("background-color") == "rgba(255, 255, 255, 1)"


def test_a_click_is_spoken_of_only_where_scripts_run(browser, address):
    words = "A click on the head of a column sorts by it."
    assert words in one(opened(browser, address), "#review").text
    assert words not in one(opened(browser, address, scripts=False), "#review").text
    opened(browser, address)
