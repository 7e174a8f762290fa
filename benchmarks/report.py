"""Half a million user turns into the report: time, memory, size, and how soon a browser can use it.

From the project's folder: `python benchmarks/report.py 500`, in turns of each of 1,000 cells.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.browser import chromium
from tests.support.made_up_results import build, made_up_config, write_results
from userturn.study.grid import Grid

MODELS = [f"model-{size}b" for size in range(1, 21)]
DATASETS = [f"dataset-{number}" for number in range(1, 6)]
TEMPERATURES = (0, 0.3, 0.5, 0.7, 1.0)
PERTURBATIONS = ("none", "truncate")
N_WORDS = 200  # of an answer: about 900 characters


def megabytes(folder: Path, pattern: str) -> float:
    """Return the size of a folder's files."""
    return sum(path.stat().st_size for path in folder.glob(pattern)) / 1e6


def seconds_in_browser(page: Path) -> dict[str, float]:
    """Return how long a browser takes until each view can be used."""
    waits: list[tuple[str, str, Any]] = [
        ("report", "#/", "document.querySelector('#counts dd')"),
        ("grid", "#/grid", "document.querySelectorAll('a.cell').length >= 500"),
        ("cell", "#/cell/model-7b/dataset-3/t0.7/truncate", "document.querySelector('.turn-row')"),
        (
            "turn",
            "#/turn/model-9b/dataset-2/t1/none/dataset-2-7/0",
            "document.querySelector('ins, #turn-text')",
        ),
        (
            "search of all",
            "#/search?q=no+such+text",
            "document.querySelector('.state')?.textContent.endsWith('Done.')",
        ),
    ]
    found = {}
    with chromium() as browser:
        for name, route, ready in waits:
            tab = browser.new_page()
            start = time.perf_counter()
            tab.goto(page.as_uri() + route)
            tab.wait_for_function(f"() => {ready}", timeout=300_000)
            found[name] = time.perf_counter() - start
            tab.close()
    return found


def main(n_turns: int) -> None:
    """Print what the report of so many turns a cell costs."""
    config = made_up_config(MODELS, DATASETS, TEMPERATURES, PERTURBATIONS)
    with tempfile.TemporaryDirectory() as folder:
        grid = Grid(config, Path(folder))
        start = time.perf_counter()
        write_results(grid, n_turns, n_words=N_WORDS)
        written = time.perf_counter()
        print(f"{len(grid.cells):,} cells of {n_turns} turns written in {written - start:.0f} s")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        page = build(grid)
        built = time.perf_counter()
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"built in {built - written:.0f} s, {most:.0f} MB at most ({before:.0f} before)")
        data = page.parent / "data"
        sizes = [megabytes(data, f"{kind}-*.js") for kind in ("cell", "prompts")]
        once = megabytes(page.parent, "index.html")
        print(f"page {once:.1f} MB, turns {sizes[0]:.0f} MB, prompts {sizes[1]:.0f} MB")
        print(f"{len(list(data.iterdir())):,} data files")
        for name, seconds in seconds_in_browser(page).items():
            print(f"{name}: {seconds:.2f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
