"""`userturn tell-apart`: can a judge tell a finished study's turns from those that people wrote?"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from userturn.cli.arguments import check_judge, chosen_grid, take_configuration
from userturn.cli.terminal import Output, Part, Sheet, prose, share
from userturn.errors import ConfigError, UserError
from userturn.humans.blinding import stop_tokens
from userturn.humans.labels import PEOPLE
from userturn.humans.pairs import TURNS_SCHEMA, people_turns
from userturn.humans.tell_apart import (
    TOLD_APART,
    TWO_OF_A_MODEL,
    TWO_PEOPLE,
    WITH_A_PERSON,
    Choice,
    LabelledPair,
    ToTellApart,
    choices,
    choose_pairs,
    pairs_of_models,
    pairs_of_people,
    read_mirrorbench,
)
from userturn.judges.kinds import kind_of
from userturn.prompts.perturbations import needs_reference
from userturn.stats.sample_size import Turns, items_for_half_width
from userturn.storage.table_files import read_tables
from userturn.study.cells import ALL, files_of
from userturn.study.grid import Grid
from userturn.study.judge import judge_of
from userturn.tables.beside_accuracy import LIMITS
from userturn.tables.turn_rates import rate_over

HELP = "ask a judge which of two turns a person wrote, the model's or the dataset's"
EXAMPLES = ("tell-apart gpt-5.4-mini", "tell-apart gpt-5.4-mini --pairs 100")
HALF_WIDTH = 0.05  # of a control's interval at 50%
RIGHT = "the person is chosen"
AS_PEOPLE = "the judge as people, who do not call it a tie"
HEADINGS = ("who chooses", "pairs of", "model", "pairs", "share [95%]", "same in both")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("judge", help="a name under `judges` of the configuration")
    command.add_argument(
        "--pairs", type=int, default=400, help="most pairs of each kind and model; default: 400"
    )
    command.add_argument(
        "--mirrorbench",
        type=Path,
        metavar="FOLDER",
        help="runs of MirrorBench, whose labelled pairs are read in place of a study's",
    )
    take_configuration(command)


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    results = Path(arguments.results)
    grid = chosen_grid(arguments.configfile, results)
    name = arguments.judge
    check_judge(name, grid.all_judges)
    if arguments.pairs < 1:
        raise UserError(f"--pairs: found {arguments.pairs}, expected 1 or more")
    # Beside the results, in which an audit would find a journal of no job.
    own = results.resolve().parent / TOLD_APART
    judge = replace(judge_of(grid, name), results=own, accounts=own / "costs")
    if not kind_of(judge.settings).HAS_ENDPOINT or judge.settings.get("serve"):
        raise ConfigError(
            f"judge '{name}' answers no other question than its own; expected a judge of the kind "
            "endpoint with a base_url"
        )
    n_at_once = int(judge.settings["concurrency"])
    if arguments.mirrorbench is not None:
        labelled = read_mirrorbench(arguments.mirrorbench)
        return card(name, labelled, choices(judge, [one.pair for one in labelled], n_at_once))
    pairs = choose_pairs(list(_pairs(grid)), arguments.pairs)
    chosen = choices(judge, [one.pair for one in pairs], n_at_once)
    rows = [*_peoples_rows(results), *_rows(name, pairs, chosen)]
    return _output(rows, *map(prose, _about(pairs)))


def _output(rows: Sequence[Mapping[str, Any]], *parts: Part) -> Output:
    cells = [
        (
            *(row["who"], row.get("kind", ""), row.get("model", "")),
            f"{row['n_chosen']}/{row['n_pairs']}",
            share(row["estimate"], row["lower"], row["upper"]),
            "" if row.get("same") is None else f"{row['same']:.1%}",
        )
        for row in rows
    ]
    return Output([Sheet(HEADINGS, cells, whole=HEADINGS[3:]), *parts], {"shares": rows})


def card(name: str, labelled: Sequence[LabelledPair], chosen: Sequence[Choice]) -> Output:
    """Return an output on how often a judge and people choose the person and how often they agree.

    `chosen` has the judge's choices in both orders of each labelled pair.
    """
    rows = []
    for (_, by_people, pair), both in zip(labelled, chosen, strict=True):
        for choice in both:
            right = {name: None if choice is None else not choice}
            if by_people is not None:
                right |= {
                    PEOPLE: not by_people,
                    AS_PEOPLE: None if choice is None else choice == by_people,
                }
            rows += [{"what": what, "pair": pair, "right": value} for what, value in right.items()]
    table = pl.DataFrame(rows, schema={"what": pl.String, "pair": pl.String, "right": pl.Boolean})
    rows_of = table.partition_by("what", as_dict=True, maintain_order=True)
    return _output(
        [
            {"who": what, "kind": RIGHT, **_counted(part, "right", ["pair"])}
            for (what,), part in rows_of.items()
        ]
    )


def _pairs(grid: Grid) -> Iterator[ToTellApart]:
    """Yield all pairs of a study that shows the dataset's own answers, to which people replied."""
    operators = grid.perturbations
    cells = [cell for cell in grid.cells if needs_reference(operators[cell.perturbation])]
    paths = files_of(cells, "user_turns.parquet")
    there = [grid.results.parent / path for path in paths]
    if not cells or not all(path.is_file() for path in there):
        raise UserError(
            "the study has no finished turns after a dataset's own answer, to which a person "
            "replied; add 'reference_answer' to run.perturbations and run `snakemake`"
        )
    datasets = [str(grid.dataset_path(name)) for name in dict.fromkeys(c.dataset for c in cells)]
    described = [str(path) for path in sorted((grid.results / "models").glob("*.json"))]
    tokens, people = stop_tokens(described), people_turns(datasets)
    turns = read_tables(map(str, there), TURNS_SCHEMA)
    columns = ["item", "messages", "reference_context"]
    items = pl.concat(
        pl.read_parquet(path, columns=["item", "reference_context"]).with_columns(
            dataset=pl.lit(Path(path).stem)
        )
        for path in datasets
    )
    with_messages = people.select("dataset", "item", "messages").join(items, on=["dataset", "item"])
    yield from pairs_of_models(turns, people, tokens)
    yield from pairs_of_people(with_messages.select("dataset", *columns), people, tokens)


def _rows(
    name: str, pairs: Sequence[ToTellApart], chosen: Sequence[Choice]
) -> list[dict[str, Any]]:
    """Return a row per kind of pairs and model, with shares over both orders."""
    table = pl.DataFrame(
        [
            {**one._asdict(), "pair": number, "chosen": choice}
            for number, (one, both) in enumerate(zip(pairs, chosen, strict=True))
            for choice in both
        ],
        schema={"kind": pl.String, "model": pl.String, "conversation": pl.String}
        | {"pair": pl.Int64, "chosen": pl.Boolean},
    )
    groups = table.partition_by("kind", "model", as_dict=True)
    return [
        {"who": name, "kind": kind, "model": model}
        | _counted(part, "chosen", ["conversation"])
        | {"same": _same_in_both(part)}
        for (kind, model), part in sorted(groups.items())
    ]


def _counted(part: pl.DataFrame, column: str, keys: list[str]) -> dict[str, Any]:
    """Return the share of choices with limits over independent `keys`, and numbers of pairs."""
    n_chosen = part.drop_nulls(column)["pair"].n_unique()
    limits = dict(zip(LIMITS, rate_over(part, keys, column)[0], strict=True))
    return {"n_chosen": n_chosen, "n_pairs": part["pair"].n_unique(), **limits}


def _same_in_both(part: pl.DataFrame) -> float | None:
    both = part.group_by("pair").agg(
        same=pl.when(pl.col("chosen").count() == 2).then(pl.col("chosen").n_unique() == 1)
    )
    share_of_same: float | None = both.select(pl.col("same").cast(pl.Float64).mean()).item()
    return share_of_same


def _peoples_rows(results: Path) -> Iterator[dict[str, Any]]:
    """Yield the same rows for people's choices, from the table `human_likeness` if there is one."""
    path = results / "tables" / "human_likeness.parquet"
    if path.is_file():
        table = pl.read_parquet(path).filter(pl.col("scope") == "model", pl.col("annotator") == ALL)
        for row in table.drop_nulls("estimate").iter_rows(named=True):
            shares = {name: row[name] for name in ("model", "n_pairs", *LIMITS)}
            of = {"who": PEOPLE, "kind": WITH_A_PERSON, "n_chosen": row["n_labelled"]}
            yield of | shares | {"same": None}


def pairs_needed() -> int | None:
    """Return how many conversations give a share of 50% limits within 5 points, or None."""
    return items_for_half_width(Turns(rate=0.5, alike=0, related=0), HALF_WIDTH, n_samples=1)


def _about(pairs: Sequence[ToTellApart]) -> list[str]:
    lacking = {TWO_PEOPLE, TWO_OF_A_MODEL} - {one.kind for one in pairs}
    lines = [
        "a model's turn that cannot be told from a person's is taken for it in 50%; every pair is "
        "asked about in both orders. Controls are of one kind, and at 50% if the judge chooses by "
        f"nothing else; their limits are within 5 points of it with {pairs_needed()} conversations."
    ]
    if lacking:
        lines.append(f"no control of {' and '.join(sorted(lacking))}: nobody wrote two such turns")
    return lines
