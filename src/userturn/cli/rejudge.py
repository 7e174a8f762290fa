"""`userturn rejudge`: ask a judge again about the turns that it left unscored."""

import argparse
import json
from pathlib import Path

import polars as pl

from userturn.cli.arguments import check_judge, study_config, take_configuration
from userturn.cli.terminal import Output, prose
from userturn.errors import UserError
from userturn.grading.grade import STAYED_OPEN
from userturn.judges.kinds import kind_of
from userturn.sources.registry import check_study, written_verdicts
from userturn.storage.files import write_text
from userturn.storage.journal import Writer, checksum_of, files_of_journal, read_lines, record_of
from userturn.study.grid import Grid, read_rounds
from userturn.study.judge import judge_of
from userturn.wording import number_of

HELP = "ask a judge again about unscored turns"
EXAMPLES = ("rejudge gpt-5.4-mini",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("judge", help="a name under `judges` of the configuration")
    take_configuration(command)


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    return rejudge(arguments.configfile, arguments.results, arguments.judge)


def void_unscored(journal: Path) -> int:
    """Void the unscored replies of a journal, and return how many questions these leave open."""
    unscored: dict[str, str] = {}
    settled, voided = set(), set()
    for path in files_of_journal(journal):
        for lines in read_lines(path):
            for line in lines.whole:
                record = record_of(line)
                if record["outcome"] == "unscored":
                    unscored[checksum_of(line)] = record["key"]
                elif record["outcome"] == "void":
                    voided.add(record["voids"])
                elif record["outcome"] == "ok":
                    settled.add(record["key"])
    standing = {c: k for c, k in unscored.items() if c not in voided and k not in settled}
    with Writer(journal) as writer:
        for checksum, key in standing.items():
            writer.append({"key": key, "outcome": "void", "voids": checksum})
    return len(set(standing.values()))


def incomplete(results: Path, judge: str) -> list[str]:
    """Return the folders, also of other grids, with written turns that a judge left unscored."""
    folders = []
    for path in written_verdicts(results, judge):
        reasons = pl.read_parquet(path, columns=["unscored_reason"])["unscored_reason"].drop_nulls()
        if not reasons.str.starts_with("no user turn").all():
            folders.append(path.parent.parent.relative_to(results).as_posix())
    return folders


def incomplete_grades(grid: Grid, judge: str) -> list[str]:
    """Return grades by a judge with a criterion that stayed open, as `grades/model/dataset`."""
    paths = []
    for dataset in (name for name in grid.datasets if grid.grader(name) == judge):
        for path in sorted(grid.results.glob(f"grades/*/{dataset}.parquet")):
            reasons = pl.read_parquet(path, columns=["reason"])["reason"].drop_nulls()
            if reasons.str.contains(STAYED_OPEN, literal=True).any():
                paths.append(path.with_suffix("").relative_to(grid.results).as_posix())
    return paths


def rejudge(configfiles: list[str], results: str, name: str) -> Output:
    """Void a judge's unscored replies, so that the next run asks about those turns only.

    Raises:
        UserError: no judge of that name asks a model.
    """
    config = study_config(configfiles)
    check_study(config)
    grid = Grid(config, results)
    check_judge(name, grid.all_judges)
    if kind_of(grid.all_judges[name]).IS_DETERMINISTIC:
        asked = [n for n, e in grid.all_judges.items() if not kind_of(e).IS_DETERMINISTIC]
        raise UserError(
            f"judge '{name}' asks no model, so there is nothing to ask again; expected one that "
            f"asks a model: {', '.join(sorted(asked)) or 'the study has none'}"
        )
    journals = sorted(judge_of(grid, name).journal("x").parent.glob("*/"))
    n_void = sum(void_unscored(journal) for journal in journals)
    folders = incomplete(grid.results, name) + incomplete_grades(grid, name)
    path = grid.rounds_path(name)
    rounds = read_rounds(path)
    places = {grid.places.turns_folder(folder) for folder in folders}
    again = rounds | {original: rounds.get(original, 0) + 1 for original in places}
    write_text(json.dumps(again, indent=1, sort_keys=True) + "\n", path)
    message = (
        f"{name}: discarded {n_void} unscored replies of {number_of(len(folders), 'table')}; run "
        "the same snakemake command again, which asks about these turns and no others"
    )
    return Output([prose(message)], {"judge": name, "discarded": n_void, "folders": folders})
