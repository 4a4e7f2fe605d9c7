"""The page in a real browser: choose a file, map its columns, watch, read the report, mark rows, download."""

import shutil
import time

import pytest

from browser import CHROMIUM, needs_browser
from local_page import Person

pytest.importorskip("selenium")

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.ui import WebDriverWait

DRIVER = shutil.which("chromedriver")
pytestmark = [pytest.mark.slow, needs_browser, pytest.mark.skipif(DRIVER is None, reason="chromedriver is not here")]


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(tmp_path_factory, downloads):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    profile = tmp_path_factory.mktemp("profile")
    for each in ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--window-size=1280,900"):
        options.add_argument(each)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield found
    found.quit()


def wait_for(browser, *where, seconds=600):
    return WebDriverWait(browser, seconds).until(lambda each: each.find_element(*where))


def pressed(browser, row):
    """The verdict that the page shows of a row, once it is saved."""
    found = browser.find_elements(By.CSS_SELECTOR, f"#row-{row} button[aria-pressed=true]")
    return found[0].text if found else ""


def see(browser, row, words):
    WebDriverWait(browser, 600).until(lambda each: pressed(each, row) == words)


def arrived(folder, name):
    until = time.monotonic() + 600
    while not (folder / name).exists():
        assert time.monotonic() < until, list(folder.iterdir())
        time.sleep(0.05)
    return (folder / name).read_bytes()


def test_from_a_file_to_verdicts_and_downloads(browser, server, table, downloads, tmp_path):
    (tmp_path / "clinic.csv").write_bytes(table)
    browser.get(server.url)
    wait_for(browser, By.ID, "upload")
    # The token is not left in the address.
    assert browser.current_url == f"http://127.0.0.1:{server.port}/"
    browser.find_element(By.ID, "table").send_keys(str(tmp_path / "clinic.csv"))
    browser.find_element(By.CSS_SELECTOR, "#upload button").click()

    label = Select(wait_for(browser, By.ID, "label"))
    label.select_by_visible_text("reported")
    offered = browser.find_elements(By.CSS_SELECTOR, "#values option")
    assert [each.get_attribute("value") for each in offered] == ["yes"]
    Select(browser.find_element(By.ID, "id")).select_by_visible_text("patient")
    browser.find_element(By.TAG_NAME, "summary").click()
    Select(browser.find_element(By.ID, "learners")).select_by_value("linear")
    Select(browser.find_element(By.ID, "scar_test")).select_by_value("no")
    browser.find_element(By.CSS_SELECTOR, "[aria-label='Being labelled depends on sex']").click()
    browser.find_element(By.CSS_SELECTOR, "#columns button.main").click()

    # The progress is shown, and the page of the result comes by itself.
    assert wait_for(browser, By.CSS_SELECTOR, "#step, .headline").text
    assert "200 rows are positive" in wait_for(browser, By.CSS_SELECTOR, ".headline .lead").text
    here = browser.current_window_handle
    result = browser.current_url
    browser.find_element(By.PARTIAL_LINK_TEXT, "Open the report").click()
    WebDriverWait(browser, 20).until(lambda each: len(each.window_handles) == 2)
    browser.switch_to.window(browser.window_handles[1])
    assert wait_for(browser, By.TAG_NAME, "h1").text
    # Its scripts run, and cannot reach the server's pages.
    assert browser.execute_script("return window.origin") == "null"
    browser.close()
    browser.switch_to.window(here)

    size = browser.find_element(By.ID, "size")
    size.clear()
    size.send_keys("6", Keys.ENTER)
    wait_for(browser, By.ID, "row-0")
    browser.find_element(By.CSS_SELECTOR, "#row-0 button[value=yes]").click()
    see(browser, 0, "Positive")
    browser.find_element(By.ID, "row-1").send_keys("n")
    see(browser, 1, "Negative")
    # The next row has the focus: keys go on.
    webdriver.ActionChains(browser).send_keys(" ").send_keys("p").send_keys("p").perform()
    see(browser, 2, "Undecided")
    see(browser, 4, "Positive")
    browser.find_element(By.ID, "row-4").send_keys("u")
    see(browser, 4, "")
    assert browser.find_element(By.ID, "count").text == "4"
    # Another tab has marked a row meanwhile: it is said, and its mark stays.
    address = browser.current_url.partition(f":{server.port}")[2]
    Person(server).post(f"{address}/marks", row=5, verdict="no", seen="")
    browser.find_element(By.CSS_SELECTOR, "#row-5 button[value=yes]").click()
    see(browser, 5, "Negative")
    assert "was marked negative in another tab" in browser.find_element(By.ID, "conflict").text
    browser.refresh()
    assert [pressed(browser, row) for row in range(6)] == [
        "Positive",
        "Negative",
        "Undecided",
        "Positive",
        "",
        "Negative",
    ]

    browser.find_element(By.CSS_SELECTOR, ".bar button.main").click()
    assert "of the rows are positive" in wait_for(browser, By.CSS_SELECTOR, ".headline .lead").text
    browser.find_element(By.LINK_TEXT, "corrected model").click()
    assert arrived(downloads, "clinic-corrected.propense")
    browser.get(result)
    browser.find_element(By.LINK_TEXT, "List").click()
    assert arrived(downloads, "clinic-list.csv").startswith(b'"patient"')
    problems = [
        each for each in browser.get_log("browser") if each["level"] == "SEVERE" and "409" not in each["message"]
    ]
    assert not problems, problems


def test_a_file_that_is_too_large_is_said_before_it_is_sent(browser, server, tmp_path):
    (tmp_path / "large.csv").write_bytes(b"x" * ((2 << 20) + 1))
    browser.get(server.url)
    wait_for(browser, By.ID, "table").send_keys(str(tmp_path / "large.csv"))
    browser.find_element(By.CSS_SELECTOR, "#upload button").click()
    assert "the limit for uploads" in browser.find_element(By.ID, "too-large").text
    assert browser.current_url.endswith(f":{server.port}/")


@pytest.mark.parametrize("path", ["/", "/job/{job}", "/job/{job}/columns", "/job/{job}/delete", "/nothing"])
def test_no_page_is_wider_than_a_phone(browser, server, fitted, path):
    browser.get(server.url)
    wait_for(browser, By.ID, "upload")
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        browser.get(f"http://127.0.0.1:{server.port}{path.format(job=fitted)}")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_sheet_is_chosen_and_a_setting_is_found_where_an_error_asks_for_it(browser, server, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["only a remark"])
    sheet = book.create_sheet("Rows & more")
    sheet.append(["x", "seen", "when"])
    for i in range(80):
        sheet.append([i % 7, "yes" if i % 3 else "", f"0{i % 9 + 1}/0{i % 8 + 1}/2020"])
    book.save(tmp_path / "two.xlsx")
    browser.get(server.url)
    wait_for(browser, By.ID, "table").send_keys(str(tmp_path / "two.xlsx"))
    browser.find_element(By.CSS_SELECTOR, "#upload button").click()
    Select(wait_for(browser, By.ID, "sheet")).select_by_visible_text("Rows & more")
    browser.find_element(By.CSS_SELECTOR, "main form button.main").click()
    Select(wait_for(browser, By.ID, "label")).select_by_visible_text("seen")
    assert "Read from the sheet 'Rows & more', one of 2." in browser.find_element(By.TAG_NAME, "main").text
    assert not browser.find_element(By.ID, "dates").is_displayed()
    browser.find_element(By.CSS_SELECTOR, "#columns button.main").click()
    wait_for(browser, By.LINK_TEXT, "Change the columns").click()
    assert "“Dates such as 01/02/2020” to “Day first”" in wait_for(browser, By.ID, "error-column-2").text
    assert browser.find_element(By.ID, "dates").is_displayed()
