"""`userturn compare`: two studies side by side, item by item, on the cells that both have."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from userturn.cli.arguments import take_json
from userturn.cli.rates_sheets import points
from userturn.cli.terminal import BAD, Output, Part, Sheet, prose
from userturn.errors import UserError
from userturn.export.read_archive import opened
from userturn.report.comparison_page import Comparison, comparison_page, drawn, flipped, with_texts
from userturn.stats.significance import holm
from userturn.storage.files import read_identity, write_text
from userturn.storage.table_files import JUDGED_CELL_KEYS
from userturn.study.record import read_study_record
from userturn.tables.item_pairs import beside, compared, counted
from userturn.tables.judge_validity import warned
from userturn.tables.turn_rates import count_items
from userturn.wording import number_of

HELP = "compare two studies item by item"
EXAMPLES = ("compare results other/results", "compare results.zip results --html both.html")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("a", type=Path, metavar="A", help="results folder, or an archive of one")
    command.add_argument("b", type=Path, metavar="B")
    command.add_argument(
        "--html", type=Path, metavar="FILE", help="also write a page with the turns that flipped"
    )
    take_json(command)


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    with opened(arguments.a) as a, opened(arguments.b) as b:
        found = compare_studies(a, b, (str(arguments.a), str(arguments.b)))
        if arguments.html:
            write_page(found, a, b, arguments.html)
    page = [f"page: {arguments.html}"] if arguments.html else []
    return Output([*formatted(found), *page], found._asdict())


GRADE = ["model", "dataset"]


def _verdicts(results: Path) -> pl.DataFrame:
    """Return the turns of each scored item, by cell and judge."""
    paths = [str(path) for path in results.glob("cells/*/*/*/*/verdicts/[!.]*.parquet")]
    if not paths:
        raise UserError(
            f"'{results}/cells' has no verdicts; expected the results folder of a finished "
            "study: run `snakemake` first, or correct the path"
        )
    texts = [
        pl.col(name).cast(pl.String)
        for name in (*JUDGED_CELL_KEYS, "item")
        if name != "temperature"
    ]
    scored = count_items(paths).filter(pl.col("n_scored") > 0)
    return scored.select(*texts, "temperature", "n_turns", "n_scored", "n_genuine", "first")


def _grades(results: Path) -> pl.DataFrame:
    """Return the graded answers in the form of counted items."""
    columns = [*GRADE, "item", "correct"]
    paths = sorted(results.glob("grades/*/[!.]*.parquet"))
    schema = {**dict.fromkeys(columns[:3], pl.String), "correct": pl.Boolean}
    tables = [pl.read_parquet(path, columns=columns) for path in paths]
    graded = pl.concat([pl.DataFrame(schema=schema), *tables])
    return graded.drop_nulls("correct").select(
        *GRADE,
        "item",
        n_turns=1,
        n_scored=1,
        n_genuine=pl.col("correct").cast(pl.Int64),
        first="correct",
    )


def _compared(a: pl.DataFrame, b: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return one row per shared group: rates in A and B, difference, test on shared items."""
    counts = counted(beside(b, a, [*keys, "item"]), keys)
    counts = counts.filter(pl.col("change").count().over(keys) > 0)
    rows: list[dict[str, Any]] = [
        dict(zip(keys, names, strict=True)) | compared(group)
        for names, group in counts.partition_by(keys, as_dict=True, maintain_order=True).items()
    ]
    table = pl.DataFrame(rows, infer_schema_length=None)
    if table.is_empty():
        return table
    return table.with_columns(p_adjusted=holm(table["p"].to_numpy()))


def _place(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Return the name of a cell or of a model's dataset, of the names in the configuration."""
    words = {key: str(row[key]) for key in keys}
    if "temperature" in words:
        words["temperature"] = f"t={row['temperature']:g}"
    return " ".join(words.values())


COMPARED = ("items", "A", "B", "B - A, points [95%]", "p", "Holm")


def _sheet(table: pl.DataFrame, keys: list[str], title: str, nothing: str) -> Part:
    """Return rates of groups in A and B, and their difference on the items of both."""
    if table.is_empty():
        return f"{title}: {nothing}"
    rows = [
        (
            *(f"{row[key]:g}" if key == "temperature" else str(row[key]) for key in keys),
            *(f"{row['n_items']:,}", f"{row['rate_baseline']:.1%}", f"{row['rate_condition']:.1%}"),
            points(row["difference"], row["lower"], row["upper"]),
            *(f"{row['p']:.3f}", f"{row['p_adjusted']:.3f}"),
        )
        for row in table.iter_rows(named=True)
    ]
    return Sheet((*keys, *COMPARED), rows, title, COMPARED)


def _only(a: pl.DataFrame, b: pl.DataFrame) -> list[str]:
    """Return the cells that are in A and not in B."""
    lost = (
        a.select(JUDGED_CELL_KEYS)
        .unique()
        .join(b.select(JUDGED_CELL_KEYS).unique(), on=JUDGED_CELL_KEYS, how="anti")
        .sort(JUDGED_CELL_KEYS)
    )
    return [_place(row, JUDGED_CELL_KEYS) for row in lost.rows(named=True)]


def _settings(a: Path, b: Path) -> str:
    """Return how many shared cells were made with the same settings."""
    paths = [path.relative_to(a) for path in a.glob("cells/*/*/*/*/user_turns.parquet")]
    shared = [path for path in paths if (b / path).is_file()]
    same = sum(read_identity(a / path) == read_identity(b / path) for path in shared)
    return f"{number_of(len(shared), 'shared cell')}, {same} of them made with the same settings"


def compare_studies(a: Path, b: Path, names: tuple[str, str] | None = None) -> Comparison:
    """Return two results folders side by side, in the cells that share items.

    They are called by their names, by default their paths.

    Raises:
        UserError: a folder without verdicts.
    """
    first, second = _verdicts(a), _verdicts(b)
    return Comparison(
        names=names or (str(a), str(b)),
        unknown=[f"{name}: {said}" for name, of in (("A", a), ("B", b)) if (said := warned(of))],
        settings=_settings(a, b),
        cells=_compared(first, second, JUDGED_CELL_KEYS),
        grades=_compared(_grades(a), _grades(b), GRADE),
        only={"A": _only(first, second), "B": _only(second, first)},
    )


def formatted(found: Comparison) -> list[Part]:
    """Return a comparison as what is printed."""
    parts: list[Part] = [
        f"A = {found.names[0]}   B = {found.names[1]}",
        *(prose(line, BAD) for line in found.unknown),
        found.settings,
        _sheet(found.cells, JUDGED_CELL_KEYS, "genuine follow-ups", "no item was scored in both"),
        _sheet(found.grades, GRADE, "task accuracy", "no item was graded in both"),
    ]
    for name, cells in found.only.items():
        parts.append(f"only in {name}: {number_of(len(cells), 'cell')} by judge")
        parts += [f"  {cell}" for cell in cells]
    return parts


def write_page(found: Comparison, a: Path, b: Path, path: Path) -> None:
    """Write a comparison as a page, with turns that flipped; private rows are not shown.

    Raises:
        UserError: a study has no record, which says what is private, or the page cannot be written.
    """
    grids = [read_study_record(results).grid(results) for results in (a, b)]
    private = {name for grid in grids for name in grid.private_datasets}
    flips = flipped(a, b)
    n_more = flips.filter("genuine_b").height
    texts = with_texts(drawn(flips), a, b, private)
    try:
        write_text(comparison_page(found, texts, (n_more, flips.height - n_more)), path)
    except OSError as error:
        raise UserError(
            f"--html: '{path}' could not be written ({error.strerror}); name another file"
        ) from error
