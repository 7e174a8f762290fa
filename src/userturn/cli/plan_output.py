"""The tables that `userturn plan` prints, from the numbers of a plan."""

from collections.abc import Iterator, Mapping
from typing import Any

from userturn.cli.terminal import Part, Sheet, prose
from userturn.sources.source import CHARACTERS_PER_TOKEN


def sheets(numbers: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the tables of a plan from its numbers, and its limit of cost."""
    counted = [
        (
            *(row["dataset"], f"{row['items']:,}", f"{row['tokens_each']:,}"),
            ", ".join(f"{n:,} for {name}" for name, n in row["references"].items()),
            "" if row["is_counted"] else "not downloaded yet: assumed",
        )
        for row in numbers["datasets"]
    ]
    heads: tuple[str, ...] = ("dataset", "items", "tokens each", "with a reference", "note")
    yield Sheet(heads, counted, "datasets", heads[1:3])
    asked_of = [
        (
            *(row["model"], f"{row['answers']:,}", f"{row['user_turns']:,}"),
            *(_short(row["tokens_read"]), _short(row["tokens_written"]), row["place"]),
            "" if row["gpu_hours"] is None else f"{row['gpu_hours']:,.1f}",
        )
        for row in numbers["models"]
    ]
    heads = (
        *("model", "answers", "user turns", "read", "written"),
        *("sweeps x GPUs, or server", "GPU hours"),
    )
    title = (
        "requests of each model; largest numbers of tokens read and written; GPU hours: about, if "
        "every text is of full length, on cards of 80 GB (assumed, not measured)"
    )
    yield Sheet(heads, asked_of, title, (*heads[1:5], heads[6]))
    if numbers["scores"]:
        scored = [
            (
                *(row["dataset"], row["turns"], f"{row['requests']:,}", _short(row["tokens_read"])),
                ", ".join(row["models"]),
            )
            for row in numbers["scores"]
        ]
        heads = ("dataset", "turns", "requests", "read", "models")
        title = (
            "scores of turns (`likelihood`): requests of each model, and tokens of prefill at "
            f"{CHARACTERS_PER_TOKEN} characters each, without the template's own text"
        )
        yield Sheet(heads, scored, title, heads[2:4])
    yield from _judges(numbers)


def _judges(numbers: Mapping[str, Any]) -> Iterator[Part]:
    rows = []
    for row in numbers["judges"]:
        about, most = row["cost_about"], row["cost_at_most"]
        cost = "no price in its entry" if about is None else f"{about:,.2f}, {most:,.2f} at most"
        free = (about, most) == (0, 0)
        rows.append((row["judge"], f"{row['calls']:,.0f}", "free" if free else cost))
    heads = ("judge", "calls, about", f"cost in {numbers['currency']}")
    title = (
        "judge calls for user turns of all sources and for rubrics: about, one request each; "
        "at most, two each, as where no first reply can be read, and replies of full length"
    )
    yield Sheet(heads, rows, title, heads[1:2])
    if (cap := numbers["max_cost"]) is not None:
        most = f"{cap:,.2f} {numbers['currency']}"
        yield prose(f"max_cost stops judges and models before they cost {most} together")


def _short(number: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"
