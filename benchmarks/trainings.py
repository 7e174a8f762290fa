"""Print a table of a study's trainings: `python -m benchmarks.trainings`.

It makes the rows of benchmarks/posttraining.md.
"""

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from userturn.storage.files import read_json

UNKNOWN = "not known"


def measured(results: Path) -> Iterator[dict[str, str]]:
    """Yield a row per trained model of a study, with divergence, held-out loss, time and memory."""
    for path in sorted(results.glob("training/*/training.json")):
        record, model = read_json(path), path.parent.name
        change = record.get("kept_change", {})
        losses = [_number(change[n]) for n in ("loss_before", "loss_after") if n in change]
        yield {
            "model": model,
            "steps": str(record["log"][-1]["step"]),
            "learnt from": f"{record.get('n_learnt', UNKNOWN)}",
            "KL of the adapter, nats a token": _number(change.get("kl_adapter")),
            "KL of what is swept": _number(change.get("kl_swept")),
            "lost": _number(change.get("lost")),
            "held-out loss": " to ".join(losses) or "none held out",
            **_job_costs(results.parent / f"benchmarks/results/train/{model}.tsv"),
        }


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.3g}"


def _job_costs(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {"CPU-seconds": UNKNOWN, "memory, GB": UNKNOWN}
    with path.open(newline="") as file:
        row: Mapping[str, Any] = next(csv.DictReader(file, delimiter="\t"))
    return {
        "CPU-seconds": f"{float(row['cpu_time']):.0f}",
        "memory, GB": f"{float(row['max_rss']) / 1024:.1f}",
    }


def main(arguments: Sequence[str]) -> None:
    """Print the table of a study's results folder."""
    results = Path(arguments[0] if arguments else "results")
    print(tabulate(list(measured(results)), "keys", "pipe", disable_numparse=True))


if __name__ == "__main__":
    main(sys.argv[1:])
