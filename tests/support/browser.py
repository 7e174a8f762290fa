"""A real Chromium for tests of pages: the one that is installed, never a download."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.slow import starting

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium found: install Debian's package chromium"
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium without a window, and end it."""
    starting("a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def violations(page: Page, place: str) -> list[str]:
    """Return what axe-core finds on a page, each with the view and its first elements."""
    found = Axe().run(page).response["violations"]
    return [
        f"{place}: {one['id']}, {len(one['nodes'])}: {[n['html'][:120] for n in one['nodes'][:3]]}"
        for one in found
    ]


ARABIC = "كم تفاحة لديها الآن؟ (5 + 2 = 7) شكرا"
_ORDER = """
element => {
  const node = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode();
  const left = (place) => {
    const range = document.createRange();
    range.setStart(node, place);
    range.setEnd(node, place + 1);
    return range.getBoundingClientRect().left;
  };
  return Math.sign(left(3) - left(0));
}
"""


def reads(tab: Page, selector: str) -> str:
    """Return in which direction the first letters of an element are drawn: ltr or rtl."""
    drawn: float = tab.locator(selector).first.evaluate(_ORDER)
    return "ltr" if drawn > 0 else "rtl"
