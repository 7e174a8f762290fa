"""The explorer's data: an index of all cells, and data files that are loaded on demand.

A data file is a script that passes one value to the page, since a page that was opened from a file
may load scripts beside it and nothing else. There are three kinds:

- `cell-{number}-{part}.js` has the turns of a cell, `ROWS_PER_FILE` of them;
- `prompts-{group}-{part}.js` has `ROWS_PER_FILE` items of a model and dataset with the prompts of
  all their cells: temperatures share prompts, perturbations share messages, and each text is
  written once;
- `pairs.js` has by cell how often any two raters give each pair of labels.

A row is a list in which each text is an index into the file's `texts`, or -1 for none.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

import polars as pl

from userturn.judges.verdict import GENUINE
from userturn.report.explorer_prompts import (
    ROWS_PER_FILE,
    Group,
    Texts,
    numbered,
    read_group,
    write_script,
)
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import TURN_KEYS
from userturn.study.cells import PLAIN, Cell
from userturn.study.grid import Grid
from userturn.tables.repeated_texts import mark_copies

Example = Mapping[str, Any]


def examples_of_cell(number: int, turns: pl.DataFrame, judge: int) -> list[Example]:
    """Return the genuine turn and the other turn of a cell that rank first, if there are any.

    `number` is the cell's, and `judge` the judge's. Each result has `rank`, `is_genuine`, `cell`,
    `item` and `sample`.
    """
    label = pl.col(f"label_{judge}")
    labelled = turns.filter(
        label.is_not_null(), pl.col("text").str.strip_chars().str.len_chars() > 0
    )
    rows = labelled.select("item", "sample", "key", is_genuine=label == GENUINE)
    return first_of_each_kind(
        {
            "rank": fingerprint(["example", key, item, sample]),
            "is_genuine": is_genuine,
            "cell": number,
            "item": item,
            "sample": sample,
        }
        for item, sample, key, is_genuine in rows.iter_rows()
    )


def first_of_each_kind(examples: Iterable[Example]) -> list[Example]:
    """Return the genuine example and the other one that rank first, if there are any."""
    ordered = sorted(examples, key=lambda example: (example["rank"], example["cell"]))
    kinds = [[e for e in ordered if e["is_genuine"] == is_genuine] for is_genuine in (True, False)]
    return [turns[0] for turns in kinds if turns]


def most_frequent(labels: Sequence[int]) -> int:
    """Return the label that most people gave, or -1 for a tie or without labels."""
    frequent = Counter(labels).most_common(2)
    is_tie = len(frequent) == 2 and frequent[0][1] == frequent[1][1]
    return frequent[0][0] if frequent and not is_tie else -1


def label_pairs(rows: Sequence[list[Any]]) -> list[list[int]]:
    """Return the pairs of labels in a cell, as two raters, their labels and the number of turns.

    `rows` are those of `turn_rows`, in which a missing label is -1.
    """
    counts: Counter[tuple[int, int, int, int]] = Counter()
    for row in rows:
        verdicts, people = row[8], row[9]
        labels = [entry[0] for entry in verdicts] + [most_frequent([entry[1] for entry in people])]
        for (i, first), (j, second) in combinations(enumerate(labels), 2):
            if first >= 0 and second >= 0:
                counts[i, j, first, second] += 1
    return [[*pair, n] for pair, n in sorted(counts.items())]


OUTCOMES = ["ok", "empty", "error"]
CUT, COPY = 1, 2  # marks of a turn, added up in one number
People = Mapping[tuple[Any, ...], list[list[str | None]]]


def read_turns(folder: Path, judges: Sequence[str]) -> pl.DataFrame:
    """Return a cell's user turns, with columns `label_0`, `rationale_0`, ... for each judge."""
    columns = [*TURN_KEYS, "key", "prompt_text", "answer", "outcome", "text"]
    columns += ["finish_reason", "error"]
    turns = mark_copies(pl.read_parquet(folder / "user_turns.parquet", columns=columns))
    verdict_columns = ["label", "rationale", "unscored_reason"]
    for number, judge in enumerate(judges):
        path = folder / "verdicts" / f"{judge}.parquet"
        verdicts = pl.read_parquet(path, columns=["item", "sample", *verdict_columns])
        named = verdicts.rename({name: f"{name}_{number}" for name in verdict_columns})
        turns = turns.join(named, on=["item", "sample"], how="left", maintain_order="left")
    return turns


def people_without_names(annotations: pl.DataFrame) -> dict[str, str]:
    """Return by annotator the name that is shown instead: `person 1` and so on."""
    names = annotations["annotator"].unique().sort()
    return {name: f"person {number}" for number, name in enumerate(names, start=1)}


def people_by_turn(annotations: pl.DataFrame) -> People:
    """Return people's labels by turn, each as numbered annotator, label and notes."""
    called = people_without_names(annotations)
    labels_of_turn: dict[tuple[Any, ...], list[list[str | None]]] = {}
    for row in annotations.sort("annotator", "round").iter_rows(named=True):
        turn = tuple(row[name] for name in (*TURN_KEYS, "key"))
        labels_of_turn.setdefault(turn, []).append(
            [called[row["annotator"]], row["label"], row["notes"]]
        )
    return labels_of_turn


def turn_rows(
    turns: pl.DataFrame, n_judges: int, group: Group | None, labels: Texts, people: People
) -> Iterator[list[Any]]:
    """Yield a cell's turns as rows that still contain their texts.

    A row has item, position of the item, sample and outcome; a mark, which is 1 for a turn that was
    cut at the length limit plus 2 for a copy of another item's turn; text, prompt and error; label,
    rationale and reason by judge; and people's labels. Without the group of items no text is shown.
    New labels are added to `labels`.
    """
    for row in turns.iter_rows(named=True):
        item = row["item"]
        verdicts = []
        for number in range(n_judges):
            remarks = [row[f"rationale_{number}"], row[f"unscored_reason_{number}"]]
            visible = remarks if group else [None, None]
            verdicts.append([numbered(labels, row[f"label_{number}"]), *visible])
        labelled = people.get(tuple(row[name] for name in (*TURN_KEYS, "key")), [])
        yield [
            item,
            group.positions[item] if group else -1,
            row["sample"],
            OUTCOMES.index(row["outcome"]),
            CUT * (row["finish_reason"] == "length") + COPY * bool(row["is_copy"]),
            row["text"] if group else None,
            group.prompt(item, row["prompt_text"], row["answer"]) if group else -1,
            row["error"] if group else None,
            verdicts,
            [
                [who, numbered(labels, label), notes if group else None]
                for who, label, notes in labelled
            ],
        ]


def cell_file(rows: Iterable[list[Any]]) -> dict[str, Any]:
    """Return the content of one file of turns, with numbered texts and flat lists of labels."""
    texts: Texts = {}

    def flat(triples: Iterable[Sequence[Any]]) -> list[Any]:
        return [
            value if isinstance(value, int) else numbered(texts, value)
            for triple in triples
            for value in triple
        ]

    turns = [
        [
            numbered(texts, item), position, sample, outcome, cut, numbered(texts, text), prompt,
            numbered(texts, error), flat(verdicts), flat(people),
        ]
        for item, position, sample, outcome, cut, text, prompt, error, verdicts, people in rows
    ]  # fmt: skip
    return {"texts": list(texts), "turns": turns}


def indexed(cell: Cell, turns: pl.DataFrame, rows: Sequence[list[Any]], n_judges: int) -> list[Any]:
    """Return a cell's row of the index.

    It has the cell, and numbers of its turns: all, by outcome, those cut at the length limit, by
    judge and label, those that judges label differently, those that people labelled, and copies of
    another item's turn.
    """
    labels = [pl.col(f"label_{number}") for number in range(n_judges)]
    differ = [one != other for one, other in combinations(labels, 2)]
    outcomes = Counter(row[3] for row in rows)
    by_judge = [Counter(row[8][number][0] for row in rows) for number in range(n_judges)]
    return [
        list(cell),
        len(rows),
        [outcomes[number] for number in range(len(OUTCOMES))],
        sum(row[4] & CUT for row in rows),
        [{label: n for label, n in sorted(c.items()) if label >= 0} for c in by_judge],
        turns.filter(pl.any_horizontal(differ)).height if differ else 0,
        sum(bool(row[9]) for row in rows),
        sum(row[4] & COPY for row in rows) // COPY,
    ]


def write_cell(rows: Sequence[list[Any]], number: int, folder: Path) -> None:
    """Write a cell's turns in files of `ROWS_PER_FILE`, whose names have the cell's number."""
    for part, start in enumerate(range(0, max(1, len(rows)), ROWS_PER_FILE)):
        content = cell_file(rows[start : start + ROWS_PER_FILE])
        write_script(folder, f"cell-{number}-{part}", content)


def write_explorer(
    grid: Grid,
    judge: str,
    labels: Iterable[str],
    descriptions: Mapping[str, Mapping[str, Any]],
    annotations: pl.DataFrame,
    folder: Path,
) -> dict[str, Any]:
    """Write the data files of all cells, and return the index that is part of the page.

    It has `cells` as `indexed` returns them, numbered `groups` of prompts, the rubric's `labels`
    and others of judges, and `examples` by the primary judge.
    """
    numbers: Texts = {label: i for i, label in enumerate(labels)}
    people, judges = people_by_turn(annotations), list(grid.judges)
    index, pairs = list[list[Any]](), list[list[list[int]]]()
    examples: list[Example] = []
    groups: dict[str, int] = {}
    for (model, dataset), cells in groupby(grid.cells, lambda cell: (cell.model, cell.dataset)):
        group = None
        if dataset not in grid.private_datasets:
            group = read_group(grid.results, model, dataset, descriptions[model]["user_header"])
        for cell in cells:
            turns = read_turns(grid.results / "cells" / cell.folder, judges)
            rows = list(turn_rows(turns, len(judges), group, numbers, people))
            write_cell(rows, len(index), folder)
            pairs.append(label_pairs(rows))
            if group and cell.perturbation == PLAIN:
                examples += examples_of_cell(len(index), turns, judges.index(judge))
            index.append(indexed(cell, turns, rows, len(judges)))
        if group:
            group.write(folder, groups.setdefault(f"{model}/{dataset}", len(groups)))
    write_script(folder, "pairs", pairs)
    contents = {"cells": index, "groups": groups, "labels": list(numbers)}
    return contents | {"examples": first_of_each_kind(examples)}
