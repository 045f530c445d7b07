"""Write the outputs and the pictures of README anew: ``python -m docs.first_page``."""

from __future__ import annotations

import re
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.blocks import blocks_of, play
from tests.chromium import start_chromium
from tests.estimators.cli.commands import run

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
STATIC = ROOT / "docs" / "static"
PAIR = "question1", "question2"


def main() -> None:
    """Run README's blocks in an empty folder, and take pictures of the pages that they write."""
    with TemporaryDirectory() as folder, chdir(folder):
        outputs = iter(play(blocks_of(README)))
        text = README.read_text("utf-8")
        shown = re.sub(
            r"^```text\n.*?^```$",
            lambda _: f"```text\n{next(outputs)}```",
            text,
            flags=re.MULTILINE | re.DOTALL,
        )
        README.write_text(shown, "utf-8")
        for name, picture in pictures().items():
            (STATIC / name).write_bytes(picture)


def pictures() -> dict[str, bytes]:
    """Take the pictures, by file name, in a folder where README's blocks have run."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = start_chromium(profile)
        try:
            run("explain", "new.csv", "--model", "model.film", "--html", "explain.html")
            return {
                "review.png": _picture(browser, "duplicates.html", ".group summary, .group button"),
                "explanation.png": _picture(browser, "explain.html"),
            }
        finally:
            browser.quit()


def _picture(browser: Any, page: str, opened: str | None = None) -> bytes:
    """Open a page, and in it the first element that `opened` selects."""
    from selenium.webdriver.support import wait

    size = {"width": 860, "height": 760, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(Path(page).resolve().as_uri())
    # A page writes its counts last.
    wait.WebDriverWait(browser, 60).until(lambda page: page.find_element("id", "counts").text)
    if opened:
        browser.find_element("css selector", opened).click()
    return browser.get_screenshot_as_png()


if __name__ == "__main__":
    main()
