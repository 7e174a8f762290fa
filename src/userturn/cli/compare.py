"""`userturn compare`: studies side by side, item by item, on the cells that they share."""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl

from userturn.cli.rates_output import points
from userturn.cli.terminal import BAD, Output, Part, Sheet, prose
from userturn.errors import UserError
from userturn.export.read_archive import opened
from userturn.report.comparison_page import Comparison, comparison_page
from userturn.report.flips import (
    OWN,
    Study,
    add_texts,
    choose_flips,
    flipped,
    studies_of,
    verdict_files,
)
from userturn.stats.proportions import Patterns, clustered_rate
from userturn.stats.significance import holm
from userturn.storage.files import read_identity, write_text
from userturn.storage.table_files import JUDGED_CELL_KEYS
from userturn.study.record import read_study_record
from userturn.tables.item_pairs import cells_of, compared, contrasts_by, pairs
from userturn.tables.judge_validity import warned
from userturn.tables.turn_rates import count_items
from userturn.wording import number_of

HELP = "compare studies item by item"
EXAMPLES = ("compare results other/results", "compare results.zip results --html both.html")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument(
        "a", type=Path, metavar="A", help="results folder of a study, or an archive of one"
    )
    command.add_argument("b", type=Path, metavar="B", help="the same of a second study")
    command.add_argument(
        "more",
        type=Path,
        nargs="*",
        default=[],
        metavar="C",
        help="further studies, each compared with A",
    )
    command.add_argument(
        "--html", type=Path, metavar="FILE", help="file for a page with the turns that flipped"
    )


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    paths = [arguments.a, arguments.b, *arguments.more]
    with ExitStack() as stack:
        folders = [stack.enter_context(opened(path)) for path in paths]
        studies = studies_of(folders, [str(path) for path in paths])
        comparisons, rates = compare_studies(studies)
        if arguments.html:
            write_page(comparisons, rates, studies, arguments.html)
    page = [f"page: {arguments.html}"] if arguments.html else []
    parts = [part for one in comparisons for part in formatted(one)]
    return Output([*parts, *page], {"comparisons": [_numbers(one) for one in comparisons]})


def _numbers(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison's values by name, with the names of its studies by letter."""
    names = {study.letter: study.title for study in comparison.studies}
    return {"names": names, **dict(list(comparison._asdict().items())[1:])}


GRADE = ["model", "dataset"]


def _named(study: Study) -> list[pl.Expr]:
    """Return the column with the name of a study's own model in a comparison, if it has one."""
    return [pl.lit(OWN).alias("model")] if study.own else []


def _verdicts(study: Study) -> pl.DataFrame:
    """Return counts of scored and genuine turns per item, cell and judge."""
    paths = [str(path) for path in verdict_files(study).values()]
    if not paths:
        raise UserError(
            f"'{study.results}/cells' has no verdicts; expected the results folder of a finished "
            "study: run `snakemake` first, or correct the path"
        )
    names = [name for name in (*JUDGED_CELL_KEYS, "item") if name != "temperature"]
    scored = count_items(paths).filter(pl.col("n_scored") > 0)
    counts = ("temperature", "n_turns", "n_scored", "n_genuine", "first")
    return scored.select(pl.col(names).cast(pl.String), *counts).with_columns(*_named(study))


def _grades(study: Study) -> pl.DataFrame:
    """Return counts of graded and right answers per item, in the same form."""
    columns = [*GRADE, "item", "correct"]
    paths = sorted(study.results.glob("grades/*/[!.]*.parquet"))
    schema = {**dict.fromkeys(columns[:3], pl.String), "correct": pl.Boolean}
    tables = [pl.read_parquet(path, columns=columns) for path in paths]
    graded = pl.concat([pl.DataFrame(schema=schema), *tables]).with_columns(*_named(study))
    genuine = pl.col("correct").cast(pl.Int64)
    return graded.drop_nulls("correct").select(
        *GRADE, "item", n_turns=1, n_scored=1, n_genuine=genuine, first="correct"
    )


def rates_of(studies: Sequence[Study], items: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return a row per cell, judge and study: its `letter`, rate with limits, and scored turns `n`.

    `items` has the counts of each study's scored items.
    """
    rows: list[dict[str, Any]] = []
    for study, counts in zip(studies, items, strict=True):
        cells = counts.partition_by(JUDGED_CELL_KEYS, as_dict=True, maintain_order=True)
        for keys, cell in cells.items():
            n, genuine = (cell[name].cast(pl.Float64) for name in ("n_scored", "n_genuine"))
            patterns = Patterns((n * 0 + 1).to_numpy(), n.to_numpy(), genuine.to_numpy())
            rate, _ = clustered_rate([patterns], "micro")
            named = dict(zip(JUDGED_CELL_KEYS, keys, strict=True))
            rows.append({**named, "letter": study.letter, **rate._asdict(), "n": int(n.sum())})
    return pl.DataFrame(rows)


def _compared(a: pl.DataFrame, b: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return a row per shared group: rates in A and B, difference, test on shared items."""
    both = pl.concat([table.with_columns(study=pl.lit(n)) for n, table in enumerate((a, b))])
    paired = pairs(cells_of(both), "study", 0, keys)
    rows = [names | compared(group) for names, group in contrasts_by(paired, keys)]
    table = pl.DataFrame(rows, infer_schema_length=None)
    if table.is_empty():
        return table
    return table.with_columns(p_adjusted=holm(table["p"].to_numpy()))


def _sheet(
    table: pl.DataFrame, columns: tuple[Sequence[str], Sequence[str]], title: str, done: str
) -> Part:
    """Return the sheet of rates of groups in two studies, and their difference on shared items.

    `columns` has the keys of groups and the headings of numbers.
    """
    keys, heads = columns
    if table.is_empty():
        return f"{title}: no item was {done} in both"
    rows = [
        (
            *(f"{row[key]:g}" if key == "temperature" else str(row[key]) for key in keys),
            *(f"{row['n_items']:,}", f"{row['rate_baseline']:.1%}", f"{row['rate_condition']:.1%}"),
            points(row["difference"], row["lower"], row["upper"]),
            *(f"{row['p']:.3f}", f"{row['p_adjusted']:.3f}"),
        )
        for row in table.iter_rows(named=True)
    ]
    return Sheet((*keys, *heads), rows, title, tuple(heads))


def _only(a: pl.DataFrame, b: pl.DataFrame) -> list[str]:
    keys = JUDGED_CELL_KEYS
    lost = a.select(keys).unique().join(b.select(keys).unique(), on=keys, how="anti").sort(keys)
    return [
        " ".join(f"t={value:g}" if key == "temperature" else value for key, value in row.items())
        for row in lost.rows(named=True)
    ]


def _settings(a: Path, b: Path) -> str:
    paths = [path.relative_to(a) for path in a.glob("cells/*/*/*/*/user_turns.parquet")]
    shared = [path for path in paths if (b / path).is_file()]
    same = sum(read_identity(a / path) == read_identity(b / path) for path in shared)
    return f"{number_of(len(shared), 'shared cell')}, {same} of them made with the same settings"


def compare_studies(studies: Sequence[Study]) -> tuple[list[Comparison], pl.DataFrame]:
    """Return the comparison of each study with the first on shared items, and the rates of all.

    Raises:
        UserError: a folder has no verdicts.
    """
    items = [_verdicts(study) for study in studies]
    others = zip(studies[1:], items[1:], strict=True)
    comparisons = [_comparison((studies[0], study), (items[0], own)) for study, own in others]
    return comparisons, rates_of(studies, items)


def _comparison(pair: tuple[Study, Study], items: tuple[pl.DataFrame, pl.DataFrame]) -> Comparison:
    a, b = pair
    return Comparison(
        studies=pair,
        unknown={s.letter: warning for s in pair if (warning := warned(s.results))},
        settings=_settings(a.results, b.results),
        cells=_compared(*items, JUDGED_CELL_KEYS),
        grades=_compared(_grades(a), _grades(b), GRADE),
        only={a.letter: _only(*items), b.letter: _only(*reversed(items))},
    )


def formatted(comparison: Comparison) -> list[Part]:
    """Return the printed parts of a comparison."""
    a, b = (study.letter for study in comparison.studies)
    heads = ("items", a, b, f"{b} - {a}, points [95%]", "p", "Holm")
    parts: list[Part] = [
        "   ".join(f"{study.letter} = {study.title}" for study in comparison.studies),
        *(prose(f"{letter}: {warning}", BAD) for letter, warning in comparison.unknown.items()),
        comparison.settings,
        _sheet(comparison.cells, (JUDGED_CELL_KEYS, heads), "genuine follow-ups", "scored"),
        _sheet(comparison.grades, (GRADE, heads), "task accuracy", "graded"),
    ]
    for name, cells in comparison.only.items():
        parts.append(f"only in {name}: {number_of(len(cells), 'cell')} by judge")
        parts += [f"  {cell}" for cell in cells]
    return parts


def write_page(
    comparisons: Sequence[Comparison], rates: pl.DataFrame, studies: Sequence[Study], path: Path
) -> None:
    """Write the page of comparisons with the first study, with turns whose label flipped.

    Texts of datasets that any of the studies calls private are left out.

    Raises:
        UserError: a study has no record to tell what is private, or the page cannot be written.
    """
    grids = [read_study_record(study.results).grid(study.results) for study in studies]
    private = {name for grid in grids for name in grid.private_datasets}
    flips = flipped(studies)
    first = pl.col(f"genuine {studies[0].letter}")
    changes = [
        flips.filter(change).height
        for other in (pl.col(f"genuine {study.letter}") for study in studies[1:])
        for change in (other & ~first, first & ~other)
    ]
    texts = add_texts(choose_flips(flips), studies, private)
    try:
        write_text(comparison_page(comparisons, rates, texts, [flips.height, *changes]), path)
    except OSError as error:
        raise UserError(
            f"--html: '{path}' could not be written ({error.strerror}); name another file"
        ) from error
