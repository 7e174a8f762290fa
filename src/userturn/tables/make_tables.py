"""Read the inputs of a rule's tables, and make and write the tables."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path

import polars as pl
from tabulate import tabulate

from userturn.datasets.turns import one_cluster_each
from userturn.generation.scores import check_scored
from userturn.humans.labels import VERDICTS, labelled_beside_judges, read_annotations_and_keys
from userturn.judges.rubric import Rubric, read_rubric
from userturn.sources.registry import scored_inputs
from userturn.stats.proportions import rows_have_copies
from userturn.storage.files import write_text
from userturn.storage.table_files import TURN_KEYS, csv_of, read_tables, write_table
from userturn.study.grid import Grid
from userturn.tables.added_columns import join_formats, marked, read_joined, split_formats, unmarked
from userturn.tables.judge_validity import warning
from userturn.tables.layout import Layout, parts_of, printed
from userturn.tables.turn_rates import count_items
from userturn.workflow.humans import HumanGrid
from userturn.workflow.registry import COPIES

Tables = Mapping[str, pl.DataFrame]  # by name


class Material:
    """The inputs of one rule, for the function `table(material)` of each of its tables."""

    def __init__(self, grid: Grid, paths: Mapping[str, Sequence[str]]) -> None:
        """Take a study's grid, and the paths of the rule's inputs by name."""
        self.grid = grid
        self.paths = paths
        self.seed = int(grid.config["seed"])
        self.n_resamples = int(grid.config["statistics"]["resamples"])
        self._tables: dict[str, pl.DataFrame] = {}

    def table(self, name: str) -> pl.DataFrame:
        """Return a table of the study, read if it is an input, otherwise made once."""
        if name not in self._tables:
            self._tables[name] = self._read(name) if name in self.paths else self._make(name)
        return self._tables[name]

    def _read(self, name: str) -> pl.DataFrame:
        schema = import_module(f"userturn.tables.{name}").SCHEMA
        return unmarked(read_joined(self.paths[name][0]), schema)

    def _make(self, name: str) -> pl.DataFrame:
        module = import_module(f"userturn.tables.{name}")
        table: pl.DataFrame = module.table(self)
        wrong = set(table.schema.items()) ^ set(pl.Schema(module.SCHEMA).items())
        if wrong or table.columns != list(module.SCHEMA):
            raise TypeError(
                f"table '{name}' has the columns {dict(table.schema)}, expected SCHEMA of "
                f"tables/{name}.py, {module.SCHEMA}; correct either"
            )
        return table

    def read(self, name: str, columns: list[str] | None = None) -> pl.DataFrame:
        """Return the rows of all files of an input, in the order of their paths."""
        return pl.concat([pl.read_parquet(p, columns=columns) for p in sorted(self.paths[name])])

    @cached_property
    def grades(self) -> pl.DataFrame:
        """The graded answers of all models and datasets."""
        return self.read("grades")

    @cached_property
    def answers(self) -> pl.DataFrame:
        """The finish reasons of the answers of all models and datasets."""
        return self.read("answers", ["model", "dataset", "item", "finish_reason"])

    @property
    def copies(self) -> pl.DataFrame:
        """The clusters of items that are copies, without rows in a study of an earlier version."""
        there = [path for path in self.paths.get(COPIES, ()) if Path(path).is_file()]
        return read_tables(there, dict.fromkeys(("dataset", "item", "cluster"), pl.String))

    @cached_property
    def items(self) -> pl.DataFrame:
        """Counts of verdicts by item, cell and judge, with the family of each model."""
        return self._add_families(count_items(self.paths["verdicts"], by_label=False))

    @property
    def items_by_label(self) -> pl.DataFrame:
        """The same with the counts of each label; not kept, as they are many columns."""
        return self._add_families(count_items(self.paths["verdicts"]))

    def _add_families(self, items: pl.DataFrame) -> pl.DataFrame:
        families = dict(self.table("families").select("model", "family").iter_rows())
        family = pl.col("model").cast(pl.String).replace_strict(families, default=None)
        return items.with_columns(family=family.cast(pl.Categorical))

    @cached_property
    def humans(self) -> HumanGrid:
        """The study's rounds of annotation, its model families and private datasets."""
        return HumanGrid(self.grid)

    @cached_property
    def user_turns(self) -> pl.DataFrame:
        """The key columns, request key and outcome of all user turns."""
        columns = [*TURN_KEYS, "key", "outcome"]
        return pl.concat([pl.read_parquet(p, columns=columns) for p in self.paths["user_turns"]])

    @cached_property
    def verdicts(self) -> pl.DataFrame:
        """The verdicts of all judges."""
        return pl.concat([pl.read_parquet(p, columns=VERDICTS) for p in self.paths["verdicts"]])

    @cached_property
    def annotations_and_keys(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """People's labels, and the keys that say which turn each label belongs to."""
        paths = (self.paths.get(name, ()) for name in ("annotations", "round_keys"))
        return read_annotations_and_keys(*paths)

    @cached_property
    def labelled(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The labelled turns with their weights, and the judges' labels of them."""
        families = self.humans.families
        return labelled_beside_judges(
            self.user_turns, self.verdicts, *self.annotations_and_keys, families
        )

    @cached_property
    def rubric(self) -> Rubric:
        """The rubric that judges and people read."""
        return read_rubric(self.paths["rubric"][0])

    @cached_property
    def warning(self) -> str | None:
        """The warning about judges that are not validated, if the rule has the judges' cards."""
        paths = self.paths.get("judges")
        return warning(pl.read_parquet(paths[0]), self.grid) if paths else None


def make_tables(
    grid: Grid,
    identity: str,
    inputs: Mapping[str, Sequence[str]],
    outputs: Mapping[str, Sequence[str]],
    is_again: bool = False,
) -> None:
    """Write tables in the formats that their paths end in.

    `inputs` has the paths of the inputs by name, and `outputs` one path per format, by table. If
    `is_again`, the tables of a finished study are made again from whatever it has.

    Raises:
        UserError: too many scores ended in an error.
    """
    if not is_again:
        for name in scored_inputs(grid):
            check_scored(inputs.get(name, ()), grid.config["max_error_share"])
    material = Material(grid, inputs)
    with one_cluster_each(material.copies), rows_have_copies(not material.copies.is_empty()):
        for name, paths in outputs.items():
            table = split_formats(marked(material.table(name), grid))
            write_all(table, paths, identity, parts_of(name), material.warning)


Parts = Sequence[tuple[str, pl.DataFrame]]  # tables of texts, each with its title or none
LATEX = re.compile(r"[%&_#$]")  # characters that LaTeX takes for commands


def write_markdown(parts: Parts, path: str | Path, note: str | None = None) -> None:
    """Write tables of texts as Markdown, each below its title, after a note if there is one."""
    before = f"**{note}**\n\n" if note else ""
    write_text(before + _printed(parts, "## {}\n\n", "pipe"), path)


def write_latex(parts: Parts, path: str | Path, note: str | None = None) -> None:
    """Write tables of texts as LaTeX tabulars with booktabs rules, each below its title."""
    escaped = LATEX.sub(r"\\\g<0>", note or "")
    before = f"\\textbf{{{escaped}}}\\par\n" if note else ""
    write_text(before + _printed(parts, "\\subsection*{{{}}}\n", "latex_booktabs"), path)


def _printed(parts: Parts, heading: str, layout: str) -> str:
    return "\n".join(
        (heading.format(title) if title else "")
        + f"{tabulate(table.rows(), table.columns, layout, disable_numparse=True)}\n"
        for title, table in parts
    )


def write_all(
    table: pl.DataFrame,
    paths: Sequence[str],
    identity: str,
    layouts: Sequence[Layout] = (),
    note: str | None = None,
) -> None:
    """Write a table in the format that each path's ending names.

    Parquet and CSV have the whole table. Markdown and LaTeX have what its layouts show, after a
    note if there is one.
    """
    for path in map(str, paths):
        ending = path.rpartition(".")[2]
        if ending == "parquet":
            write_table(table, path, identity)
        elif ending == "csv":
            write_text(csv_of(table), path)
        elif layouts:
            # The other layouts are shown in the report alone.
            printed_layouts = [
                one for one in layouts if any(column.printed for column in one.columns)
            ]
            titled = len(printed_layouts) > 1
            parts = [
                (one.title if titled else "", printed(one, join_formats(table)))
                for one in printed_layouts
            ]
            {"md": write_markdown, "tex": write_latex}[ending](parts, path, note)
