"""A real browser for the pages; tests that ask for it are skipped where there is none."""

import json
import time

import pytest

from estimators.inspection.pages.page import write_page
from tests.chromium import start_chromium


class Browser:
    """A page under test: short names for what the tests do with it."""

    def __init__(self, driver, folder):
        self.driver, self.folder = driver, folder

    def open(self, html):
        path = self.folder / "page.html"
        write_page(html, path)
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.driver.get_log("performance")
        self.driver.get(path.as_uri())
        self.settle()

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def settle(self):
        """Wait until the page has drawn what the last event asked for."""
        self.driver.execute_async_script(
            "const done = arguments[0];"
            "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));"
        )

    def all(self, selector, inside=None):
        return (inside or self.driver).find_elements("css selector", selector)

    def one(self, selector, inside=None):
        return (inside or self.driver).find_element("css selector", selector)

    def click(self, selector):
        self.one(selector).click()
        self.settle()

    def keys(self, selector, *keys):
        """Type texts and keys, such as "<TAB>", into an element."""
        self.press(self.one(selector), *keys)

    def press(self, element, *keys):
        from selenium.webdriver.common.keys import Keys

        element.send_keys(*[getattr(Keys, k[1:-1]) if k[0] == "<" else k for k in keys])
        self.settle()

    def order(self, value):
        self.one(f"#order option[value={value}]").click()
        self.settle()

    def texts(self, selector):
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)",
            selector,
        )

    def counts(self):
        return [int(number.replace(",", "")) for number in self.texts("#counts strong")]

    def groups(self):
        """Ids of the members of each group, in the order of the list."""
        self.click("#open-all")
        return self.run(
            "return [...document.querySelectorAll('.group')].map((group) =>"
            " [...group.querySelectorAll('.member > .id')].map((id) => id.textContent))"
        )

    def marks(self, element):
        """Shaded words inside an element: text, sign, strength."""
        return self.run(
            "return [...arguments[0].querySelectorAll('[data-sign]')].map((mark) =>"
            " [mark.textContent, mark.dataset.sign,"
            "  parseFloat(mark.style.getPropertyValue('--strength'))])",
            element,
        )

    def point_at(self, element):
        from selenium.webdriver import ActionChains

        ActionChains(self.driver, duration=0).move_to_element(element).perform()

    def narrow(self, width):
        """Take the width of a phone until the next page is opened."""
        size = {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": True}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.settle()

    def download(self, button="#download", name="*.csv"):
        """Press a button, and give the path of the file that comes."""
        for old in self.folder.glob(name):
            old.unlink()
        self.click(button)
        for _ in range(200):
            for found in self.folder.glob(name):
                return found
            time.sleep(0.05)
        raise AssertionError("no download came")

    def download_text(self):
        return self.download().read_bytes().decode("utf-8")

    def requests(self):
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    started = start_chromium(tmp_path_factory.mktemp("profile"))
    yield started
    started.quit()


@pytest.fixture
def unchecked_browser(chromium, tmp_path):
    chromium.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    return Browser(chromium, tmp_path)


@pytest.fixture
def browser(unchecked_browser):
    """A browser whose console must stay empty, violations of the policy included."""
    yield unchecked_browser
    assert unchecked_browser.driver.get_log("browser") == []
    assert unchecked_browser.run("return window.hacked") is None


@pytest.fixture
def hostile_texts():
    return [
        "</script><script>window.hacked=1</script>",
        '<img src=x onerror="window.hacked=1">',
        '<a href="javascript:window.hacked=1">"quoted", it\'s</a>',
        "<!--<script>]]>&lt;&amp;",
        "line\u2028paragraph\u2029end",
        "\u202eexe.gnp reset",
        "line\r\nbreak\ttab",
        "unbreakable" * 200,
        "ten thousand words " * 5500,
    ]
