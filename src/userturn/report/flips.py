"""Studies that are compared, and turns that one of them calls genuine and another does not."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import NamedTuple

import polars as pl

from userturn.errors import UserError
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import JUDGED_CELL_KEYS, TURN_KEYS, Schema

MOST_SHOWN = 400
TURN = ["item", "sample"]
VERDICT: Schema = {"label": pl.String, "genuine": pl.Boolean, "rationale": pl.String}
OWN = "its own model"  # in place of the model if each study has another one


class Study(NamedTuple):
    """A results folder that is compared."""

    letter: str  # what it is called in tables
    name: str  # what its user called it
    results: Path
    own: str | None = None  # its only model, if the studies' only models are compared

    @property
    def title(self) -> str:
        """The study's name, with its model if studies of different models are compared."""
        return f"{self.name}, model {self.own}" if self.own else self.name


class JudgedCell(NamedTuple):
    """A cell by a judge. The model is OWN if each study has another model."""

    model: str
    dataset: str
    temperature: str  # as in paths
    perturbation: str
    judge: str


class Side(NamedTuple):
    """A turn in one study: the answer before it, its text and its verdict."""

    answer: str
    turn: str
    label: str
    rationale: str


class Flip(NamedTuple):
    """A turn on which studies differ, with its side of each study by letter.

    If the turn is private, `question` is None and sides have only labels.
    """

    cell: str  # with its judge, in words
    item: str
    question: str | None  # the item's last message
    sides: Mapping[str, Side]


def studies_of(folders: Sequence[Path], names: Sequence[str] | None = None) -> list[Study]:
    """Return results folders as studies A, B and so on, by default named like their paths.

    If each has a single model, and these differ, the models are compared with each other.

    Raises:
        UserError: there are more studies than letters.
    """
    if len(folders) > len(ascii_uppercase):
        raise UserError(
            f"{len(folders)} studies were named; expected at most {len(ascii_uppercase)}: compare "
            "fewer at once"
        )
    models = [sorted(p.name for p in (f / "cells").glob("[!.]*") if p.is_dir()) for f in folders]
    is_own = all(len(m) == 1 for m in models) and len({m[0] for m in models}) > 1
    named = names or [str(folder) for folder in folders]
    return [
        Study(letter, name, folder, model[0] if is_own else None)
        for letter, name, folder, model in zip(
            ascii_uppercase, named, folders, models, strict=False
        )
    ]


def verdict_files(study: Study) -> dict[JudgedCell, Path]:
    """Return the paths of a study's verdict files, by judged cell."""
    files = {}
    for path in sorted(study.results.glob("cells/*/*/*/*/verdicts/[!.]*.parquet")):
        model, dataset, temperature, perturbation = path.parts[-6:-2]
        name = OWN if study.own else model
        files[JudgedCell(name, dataset, temperature[1:], perturbation, path.stem)] = path
    return files


def flips_schema(studies: Sequence[Study]) -> Schema:
    """Return the columns of flips: a judged cell, a turn, and the verdict of each study."""
    verdict_columns = {
        f"{name} {s.letter}": kind for s in studies for name, kind in VERDICT.items()
    }
    cell_columns = {
        name: pl.Float64 if name == "temperature" else pl.String for name in JUDGED_CELL_KEYS
    }
    return {**cell_columns, "item": pl.String, "sample": pl.Int64, **verdict_columns}


def flipped(studies: Sequence[Study]) -> pl.DataFrame:
    """Return the turns that one study's verdict calls genuine and another's does not.

    Studies are aligned by cell, judge, item and sample. A study that lacks a turn, or a verdict on
    it, is left out for that turn. Columns are those of `flips_schema`.
    """
    schema = flips_schema(studies)
    files = [verdict_files(study) for study in studies]
    parts = [pl.DataFrame(schema=schema)]
    for cell in sorted({cell for of_study in files for cell in of_study}):
        having = [(s, f[cell]) for s, f in zip(studies, files, strict=True) if cell in f]
        if len(having) > 1:
            parts.append(_flipped_in(cell, having, schema))
    return pl.concat(parts)


def _flipped_in(
    cell: JudgedCell, having: Sequence[tuple[Study, Path]], schema: Schema
) -> pl.DataFrame:
    table = pl.DataFrame(schema={"item": pl.String, "sample": pl.Int64})
    for study, path in having:
        verdicts = pl.read_parquet(path).select(
            pl.col("item").cast(pl.String),
            pl.col("sample").cast(pl.Int64),
            *(pl.col(n).cast(kind).alias(f"{n} {study.letter}") for n, kind in VERDICT.items()),
        )
        table = table.join(
            verdicts, on=TURN, how="full", coalesce=True, maintain_order="left_right"
        )
    genuine = [pl.col(f"genuine {study.letter}") for study, _ in having]
    differ = table.filter(pl.any_horizontal(genuine) & pl.any_horizontal(~g for g in genuine))
    keys = {**cell._asdict(), "temperature": float(cell.temperature)}
    named = differ.with_columns(pl.lit(value).alias(key) for key, value in keys.items())
    return pl.concat([pl.DataFrame(schema=schema), named], how="diagonal").select(list(schema))


def choose_flips(flips: pl.DataFrame) -> pl.DataFrame:
    """Return at most MOST_SHOWN of the flips, chosen by a hash, in the order of their cells."""
    names = [*JUDGED_CELL_KEYS, *TURN]
    ranks = [fingerprint(["flip", *row]) for row in flips.select(names).iter_rows()]
    ranked = flips.with_columns(rank=pl.Series(ranks, dtype=pl.String)).sort("rank")
    return ranked.head(MOST_SHOWN).sort(*JUDGED_CELL_KEYS, "rank")


def add_texts(flips: pl.DataFrame, studies: Sequence[Study], private: set[str]) -> Iterator[Flip]:
    """Yield flips with question, answers, turns and rationales, or without texts if private."""
    for (model, dataset, temperature, perturbation, judge), group in flips.group_by(
        JUDGED_CELL_KEYS, maintain_order=True
    ):
        folder = f"{dataset}/t{temperature:g}/{perturbation}/user_turns.parquet"
        name = f"{model} · {dataset} · t {temperature:g} · {perturbation} · by {judge}"
        is_shown = dataset not in private
        paths = {s.letter: s.results / "cells" / (s.own or str(model)) / folder for s in studies}
        texts = {n: _texts(p) if is_shown and p.is_file() else {} for n, p in paths.items()}
        questions = _questions(studies, str(dataset)) if is_shown else {}
        for row in group.iter_rows(named=True):
            sides = {}
            for letter in (s.letter for s in studies if row[f"label {s.letter}"] is not None):
                answer, turn = texts[letter].get((row["item"], row["sample"]), ("", ""))
                rationale = str(row[f"rationale {letter}"] or "") if is_shown else ""
                sides[letter] = Side(answer, turn, str(row[f"label {letter}"]), rationale)
            yield Flip(
                name, row["item"], questions.get(row["item"], "") if is_shown else None, sides
            )


def _texts(path: Path) -> dict[tuple[str, int], tuple[str, str]]:
    turns = pl.read_parquet(path, columns=[*TURN_KEYS[-2:], "answer", "text"])
    return {(i, s): (answer or "", text or "") for i, s, answer, text in turns.iter_rows()}


def _questions(studies: Sequence[Study], dataset: str) -> dict[str, str]:
    questions: dict[str, str] = {}
    for study in reversed(studies):
        path = study.results / f"datasets/{dataset}.parquet"
        if path.is_file():
            items = pl.read_parquet(path, columns=["item", "messages"])
            questions |= {item: messages[-1]["content"] for item, messages in items.iter_rows()}
    return questions
