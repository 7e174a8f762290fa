"""`userturn preregister`: register a study's predictions before its run, and compare them after it.

The file has the predictions, the whole configuration, the day, and its own hash. The hash should be
deposited elsewhere, such as in a commit, a registry of studies or a letter.
"""

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from userturn.cli.arguments import study_config, take_configuration
from userturn.cli.terminal import Output
from userturn.config.check import check
from userturn.config.load import REGISTRATION
from userturn.errors import UserError
from userturn.storage.files import read_json, write_text
from userturn.storage.hashing import fingerprint
from userturn.study.record import read_study_record
from userturn.tables.anchor_evidence import predicted, quantity
from userturn.tables.anchors import OWN, outcome_in_words

HELP = "register a study's predictions before its run, and compare them after it"
EXAMPLES = ("preregister", "preregister --configfile mine.yaml")
FILE = Path(REGISTRATION)
ROOTS = ("journal", "answers", "cells")  # of the results, once something was asked


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_configuration(command)


def run(arguments: argparse.Namespace) -> Output:
    """Register the predictions if none are registered, else compare them."""
    if FILE.exists():
        registered = read_json(FILE)
        text = compared(registered, Path(arguments.results))
    else:
        config = study_config(arguments.configfile)
        check(config)
        text = register(config, Path(arguments.results))
        registered = read_json(FILE)
    head = {name: registered[name] for name in ("date", "sha256", "predictions")}
    return Output([text], {"registered": head, "said": text.splitlines()})


def _hash(content: dict[str, Any]) -> str:
    return fingerprint({key: value for key, value in content.items() if key != "sha256"})


def register(config: dict[str, Any], results: Path) -> str:
    """Write the registration of a configuration's predictions, and return its summary.

    Raises:
        UserError: there is nothing to register, or a model was asked already.
    """
    if not config.get("predictions"):
        raise UserError(
            "the configuration has no `predictions`; expected at least one (docs/methods.md): add "
            "them before the run"
        )
    asked = next((results / name for name in ROOTS if (results / name).exists()), None)
    if asked is not None:
        raise UserError(
            f"'{asked}' exists, so models were asked already; expected a study before its run: "
            "register in a folder without results, or leave the predictions unregistered"
        )
    content: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "predictions": config["predictions"],
        "configuration": {key: value for key, value in config.items() if key != "predictions"},
    }
    content["sha256"] = _hash(content)
    write_text(json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n", FILE)
    lines = [f"  {quantity(name, one)}: {predicted(one)}" for name, one in _named(content)]
    return "\n".join(
        [
            f"registered {len(lines)} predictions in {FILE}:",
            *lines,
            f"Give its hash to somebody else now: {content['sha256']}",
        ]
    )


def _named(content: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return sorted(content["predictions"].items())


def compared(content: dict[str, Any], results: Path) -> str:
    """Return the outcomes of registered predictions, and the changes since, as text.

    Raises:
        UserError: the file was changed after it was written, or the study is not finished.
    """
    if content.get("sha256") != _hash(content):
        raise UserError(
            f"'{FILE}' has the hash {_hash(content)}, expected {content.get('sha256')} as it says "
            "itself; it was changed after the registration: restore the copy that you kept"
        )
    path = results / "tables" / "anchors.parquet"
    if not path.is_file():
        raise UserError(
            f"'{path}' does not exist; expected a finished study: run `snakemake`. The predictions "
            f"of {content['date']} stay registered ({content['sha256']})"
        )
    config = dict(read_study_record(results).config)
    predictions = config.pop("predictions", {})
    before = content["configuration"]
    changed = sorted(k for k in {*before, *config} if before.get(k) != config.get(k))
    rows = pl.read_parquet(path).filter(pl.col("source") == OWN).to_dicts()
    outcomes = {row["quantity"]: row for row in rows}
    return "\n".join(
        [
            f"registered {content['date']}, {content['sha256']}",
            f"configuration: {'changed since: ' + ', '.join(changed) if changed else 'unchanged'}",
            *(_line(name, one, predictions, outcomes) for name, one in _named(content)),
            *(
                f"  {name}: not registered"
                for name in sorted(set(predictions) - set(content["predictions"]))
            ),
        ]
    )


def _line(
    name: str, one: dict[str, Any], present: dict[str, Any], outcomes: dict[str, dict[str, Any]]
) -> str:
    prediction = f"  {quantity(name, one)}: {predicted(one)}"
    if present.get(name) != one:
        return f"{prediction}: {'changed' if name in present else 'removed'} since"
    row = outcomes[quantity(name, one)]
    note = f" ({row['note']})" if row["note"] else ""
    return f"{prediction}: {outcome_in_words(row)}, {row['this_study']}{note}"
