"""Does every row say what was planned, what the engine wrote and what the judges said?

Made again out of what it came from, each table must be the table that is there: user turns and
answers out of plans and journals, verdicts out of the judges' journals or the heuristic, summaries
out of verdicts. Keys and seeds of requests are computed again from what they stand for.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl

from userturn.asking import Record
from userturn.cells import Cell, files_of
from userturn.collecting import answers_of, user_turns_of
from userturn.decisions import Decisions
from userturn.errors import UserError
from userturn.findings import Finding, remake
from userturn.grid import Grid
from userturn.journal import read_journal
from userturn.judge_requests import judge_prompt
from userturn.judges import CellToJudge, judge_of
from userturn.judging import KEYS, heuristic_verdicts, verdicts_table
from userturn.requests import Sampling, derive_seed, request_key
from userturn.study_record import StudyRecord
from userturn.tabulating import TURN, summary

ITEM_KEYS = ["model", "dataset", "item"]
SHOWN = (pl.Boolean, pl.Int64, pl.Int32, pl.Float64, pl.UInt32)  # what no dataset's owner minds
Wrong = tuple[str, str]  # what was expected, what was found
# What a table raises that was altered together with its hash.
FAULTS = (
    UserError,
    OSError,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    LookupError,
    TypeError,
    ValueError,
)


class BrokenError(Exception):
    """An artifact that is not as it was made."""


def difference(made: pl.DataFrame, there: pl.DataFrame, keys: Sequence[str]) -> Wrong | None:
    """Return how a table differs from what it should be, or None where it does not.

    Texts are never shown: they may be of a dataset that must not be.
    """
    if made.schema != there.schema:
        return f"columns {', '.join(made.columns)}", f"columns {', '.join(there.columns)}"
    if made.equals(there):
        return None
    if made.height != there.height:
        twice = there.filter(there.select(keys).is_duplicated())
        more = f", {_place(twice, keys, 0)} twice" if twice.height else ""
        return f"{made.height} rows", f"{there.height} rows{more}"
    for name in made.columns:
        same = made[name].eq_missing(there[name])
        if not same.all():
            row = same.arg_min() or 0
            shown = made.schema[name] in SHOWN
            expected, found = (t[name][row] if shown else "" for t in (made, there))
            where = f"{name} of {_place(there, keys, row)}"
            return f"{where} {expected}".strip(), f"{found}" if shown else "another content"
    return "rows in the dataset's order", "another order"


def _place(table: pl.DataFrame, keys: Sequence[str], row: int) -> str:
    return "/".join(str(value) for value in table.select(keys).row(row))


@dataclass(frozen=True)
class Rows:
    """All that a study has of one model and dataset.

    Attributes:
        grid: of the study, its results where they are now.
        study: its record.
        model: name.
        dataset: name.
        with_journals: False for a copy that came without.
        broken: artifacts that are missing or altered, and found so: nothing is held against them.
    """

    grid: Grid
    study: StudyRecord
    model: str
    dataset: str
    with_journals: bool
    broken: frozenset[str]

    @property
    def cells(self) -> list[Cell]:
        """The cells of the model and dataset."""
        mine = (self.model, self.dataset)
        return [cell for cell in self.grid.cells if (cell.model, cell.dataset) == mine]

    @cached_property
    def items(self) -> list[str]:
        """The items of the dataset."""
        return self.read(self._dataset)["item"].to_list()

    @property
    def _dataset(self) -> str:
        return f"results/datasets/{self.dataset}.parquet"

    @cached_property
    def description(self) -> dict[str, Any]:
        """What is known of the model."""
        found: dict[str, Any] = json.loads(
            self.whole(f"results/models/{self.model}.json").read_bytes()
        )
        return found

    @cached_property
    def records(self) -> dict[str, Record]:
        """The journal, by key."""
        return read_journal(self.grid.journal_folder(self.model, self.dataset)).records

    def whole(self, path: str) -> Path:
        """Return where an artifact is, by its path in rules.

        Raises:
            BrokenError: it is not as it was made.
        """
        if path in self.broken:
            raise BrokenError(path)
        return self.grid.results / path.removeprefix("results/")

    def read(self, path: str) -> pl.DataFrame:
        """Read a table by its path in rules."""
        return pl.read_parquet(self.whole(path))

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong with journals, answers, user turns, verdicts and summaries."""
        answers = f"results/answers/{self.model}/{self.dataset}.parquet"
        yield from self._plan(self.grid.answers_identity(self.model, self.dataset), 1)
        yield from self._held("rows", answers, self._answers, ITEM_KEYS)
        yield from self._requests(answers, "assistant", None)
        for cell in self.cells:
            turns = files_of([cell], "user_turns.parquet")[0]
            n_samples = self.grid.n_samples(cell.temperature)
            yield from self._plan(self.grid.cell_identity(cell), n_samples)
            yield from self._held("rows", turns, partial(self._user_turns, cell), KEYS)
            yield from self._requests(turns, "user", cell)
            for judge in self.grid.judges:
                path = files_of([cell], f"verdicts/{judge}.parquet")[0]
                yield from self._held("verdicts", path, partial(self._verdicts, cell, judge), KEYS)
            path = files_of([cell], "summary.parquet")[0]
            yield from self._held("summaries", path, partial(self._summary, cell), ["judge"])

    def _held(
        self, check: str, path: str, make: Callable[[], pl.DataFrame | None], keys: Sequence[str]
    ) -> Iterator[Finding]:
        """Hold an artifact against what it should be."""
        try:
            made = make()
            wrong = None if made is None else difference(made, self.read(path), keys)
        except BrokenError:
            return
        except FAULTS as error:
            reason = str(error).partition("\n")[0] if isinstance(error, UserError) else ""
            wrong = "to follow from what it was made of", reason or type(error).__name__
        if wrong is not None:
            yield Finding(check, path, *wrong, remake(path))

    def _plan(self, identity: str, n_samples: int) -> Iterator[Finding]:
        """Hold a plan against the items and samples that it should ask for."""
        folder = f"results/requests/{self.model}/{self.dataset}/{identity}"
        paths = sorted(self.whole(folder).glob("*.parquet"))
        if not paths:
            yield Finding("rows", folder, "the plan of a sweep", "none", remake(f"{folder}/1of1"))
        try:
            plans = {path.name: self.read(f"{folder}/{path.name}") for path in paths}
            wanted = {(item, sample) for item in self.items for sample in range(n_samples)}
            planned = {
                name: list(plan.select("item", "sample").iter_rows())
                for name, plan in plans.items()
            }
        except (BrokenError, *FAULTS):
            return
        asked = {row for rows in planned.values() for row in rows}
        for name, rows in planned.items():
            if asked != wanted or len(rows) != len(set(rows)):
                expected = f"each of {len(wanted)} items and samples once"
                found = f"{len(rows)} rows, {len(asked & wanted)} of them in all shards"
                path = f"{folder}/{name}"
                yield Finding("rows", path, expected, found, remake(path))

    def _answers(self) -> pl.DataFrame | None:
        if not self.with_journals:
            return None
        return answers_of(self.grid, self.model, self.dataset, self.records)

    def _user_turns(self, cell: Cell) -> pl.DataFrame | None:
        return user_turns_of(self.grid, cell, self.records) if self.with_journals else None

    def _verdicts(self, cell: Cell, name: str) -> pl.DataFrame | None:
        turns = self.whole(files_of([cell], "user_turns.parquet")[0])
        asked = CellToJudge(str(turns), str(self.whole(self._dataset)))
        judge = judge_of(self.grid, name)
        if judge.settings["kind"] == "heuristic":
            return verdicts_table(name, asked, heuristic_verdicts(judge, asked))
        if not self.with_journals:
            return None
        from userturn.endpoint_judging import decided  # half a second to import

        rubric, text = (self.study.texts[judge.settings[key]] for key in ("rubric", "prompt"))
        prompt = judge_prompt(rubric, text, self.study.contents.judges[name])
        keys = [None if q is None else q.key for q in asked.questions(prompt)]
        decisions = Decisions(judge.journal(self.dataset), filter(None, keys))
        return verdicts_table(name, asked, decided(keys, decisions))

    def _summary(self, cell: Cell) -> pl.DataFrame:
        names = [f"verdicts/{judge}.parquet" for judge in self.grid.judges]
        turns, *verdicts = files_of([cell], "user_turns.parquet", *names)
        config = self.grid.config
        return summary(
            self.read(turns).select(TURN),
            [self.read(path) for path in verdicts],
            config["seed"],
            config["statistics"]["resamples"],
        )

    def _requests(self, path: str, role: str, cell: Cell | None) -> Iterator[Finding]:
        """Hold items, samples, seeds and keys against what they are made of."""
        try:
            table, expected, items = self.read(path), self._drawn(role, cell), self.items
        except (BrokenError, *FAULTS):
            return  # found above, or with the model and the dataset
        n_samples = 1 if cell is None else self.grid.n_samples(cell.temperature)
        found = list(table.select("item", pl.col("sample") if cell else pl.lit(0)).iter_rows())
        if found != [(item, sample) for item in items for sample in range(n_samples)]:
            yield Finding(
                "rows",
                path,
                f"{n_samples} rows of each of {len(items)} items, in their order",
                f"{len(found)} rows of {len({item for item, _ in found})} items",
                remake(path),
            )
            return
        for wrong in (self._wrong_request(row, role, expected) for row in _asked(table)):
            if wrong is not None:
                yield Finding("keys", path, *wrong, remake(path))
                return

    def _drawn(self, role: str, cell: Cell | None) -> dict[str, Any]:
        """Return the sampling settings that all requests of a table share."""
        if cell is None:
            drawn = self.grid.answer_settings(self.model)
        else:
            temperature = {"temperature": self.grid.temperatures[cell.temperature]}
            drawn = self.grid.config["user_turn"] | temperature
        stops = "stop_token_ids" if role == "user" else "end_of_answer_token_ids"
        return {**drawn, "stop_token_ids": tuple(self.description[stops])}

    @cached_property
    def _identity(self) -> dict[str, Any]:
        line = self.grid.models[self.model]
        engine = {"dtype": line["dtype"], "engine": self.grid.config["engine"]}
        return {**self.description["identity"], **engine}

    def _wrong_request(
        self, row: Mapping[str, Any], role: str, drawn: Mapping[str, Any]
    ) -> Wrong | None:
        item, sample = row["item"], row.get("sample", 0)
        seed = derive_seed(self.grid.config["seed"], role, self.dataset, item, sample)
        if row["seed"] != (seed if drawn["temperature"] > 0 else None):
            return f"seed of {item}, sample {sample}, derived from the study's", str(row["seed"])
        sampling = Sampling(**drawn, seed=row["seed"])
        ids = f"[{row['prompt_token_ids']}]"
        key = request_key(self._identity, self.dataset, sample, ids, asdict(sampling))
        if key == row["key"]:
            return None
        return f"key {key[:12]} of {item}, sample {sample}, by what was asked", row["key"][:12]


def _asked(table: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the requests of a table, their token ids as numbers between commas."""
    ids = pl.col("prompt_token_ids").cast(pl.List(pl.String)).list.join(",")
    names = ["item", "seed", "key", *(["sample"] if "sample" in table.columns else [])]
    asked = table.filter(pl.col("key").is_not_null())
    return asked.select(*names, prompt_token_ids=ids).iter_rows(named=True)
