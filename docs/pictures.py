"""Pictures of a finished study's pages, for the README and the documentation site.

`python -m docs.pictures results docs/figures` takes them by an installed Chromium, from the file
system, at the size of a laptop's window.
"""

import sys
from pathlib import Path
from typing import NamedTuple

from tests.support.browser import CHROMIUM, chromium


class Picture(NamedTuple):
    """What a picture shows."""

    page: str  # below the study's results
    view: str  # the address within the page
    waits_for: str  # a selector of what has to be seen
    keys: tuple[str, ...] = ()  # pressed one after another before the picture is taken


PICTURES = {
    "report": Picture("report/index.html", "", "h1"),
    "explorer": Picture("report/index.html", "#/grid", "main"),
    "annotation": Picture("humans/first/task.html", "", "body", ("A", "Enter", "Escape", "Escape")),
}


def take(results: Path, folder: Path) -> None:
    """Write a PNG file of each picture into a folder, named after it."""
    if CHROMIUM is None:
        print("no Chromium is installed: the pictures stay as they are in docs/figures")
        return
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        for name, picture in PICTURES.items():
            page.goto(f"{(results / picture.page).resolve().as_uri()}{picture.view}")
            page.wait_for_selector(picture.waits_for)
            for key in picture.keys:
                page.keyboard.press(key)
            page.wait_for_timeout(1000)  # charts are drawn after the page is shown
            page.screenshot(path=folder / f"{name}.png")


if __name__ == "__main__":
    take(Path(sys.argv[1]), Path(sys.argv[2]))
