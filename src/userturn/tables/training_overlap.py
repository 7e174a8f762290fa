"""Table `training_overlap`: evaluation items that occur in training data, exactly or nearly.

Exactly: a user message of the item and a message of the training data have the same words. Nearly:
the Jaccard similarity of their sets of character 5-grams is 0.8 or more (Lee et al. 2022,
arXiv:2107.06499, find near duplicates by MinHash at that threshold). Candidates come from
datasketch's MinHash index, and each is then compared exactly.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from userturn.config.training_exposure import Entries, Recipes, trained_on, trains_on_the_metric
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL
from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="measure_training_overlap",
    place=360,
    row="a trained model and dataset",
    made_of=("training_data", "evaluated_items"),
    settings=("exposure",),
    needs="training_data",
)
MEANINGS = {
    "n_items": "items of the dataset",
}
WORD = re.compile(r"\w+")
FEWEST_WORDS = 5  # shorter texts recur by chance
GRAM = 5
NEAR = 0.8
CANDIDATE = 0.6  # threshold of the index, which is only approximate
PERMUTATIONS = 128
COUNTED: Schema = {
    "model": pl.String,
    "dataset": pl.String,
    "n_items": pl.Int64,
    "n_exact": pl.Int64,
    "n_near": pl.Int64,
}
SEEN: Schema = {"seen": pl.Boolean, "trains_on_the_metric": pl.Boolean}
SCHEMA: Schema = COUNTED | SEEN


def normalised(text: str) -> str:
    """Return the words of a text in lower case, with single spaces."""
    return " ".join(WORD.findall(text.casefold()))


def grams(text: str) -> frozenset[str]:
    """Return the character 5-grams of a normalised text."""
    return frozenset(text[i : i + GRAM] for i in range(max(1, len(text) - GRAM + 1)))


def jaccard(one: Collection[str], other: Collection[str]) -> float:
    """Return the Jaccard similarity of two sets: the intersection over the union."""
    first, second = set(one), set(other)
    return len(first & second) / len(first | second)


def _minhash(text: str) -> Any:
    from datasketch import MinHash

    sketch = MinHash(num_perm=PERMUTATIONS, seed=1)
    sketch.update_batch([gram.encode() for gram in sorted(grams(text))])
    return sketch


class Learnt:
    """The messages of some training data, to look texts up in."""

    def __init__(self, messages: Iterable[str]) -> None:
        """Index messages; short ones are left out."""
        from datasketch import MinHashLSH

        texts = map(normalised, messages)
        self.texts = sorted({text for text in texts if text.count(" ") + 1 >= FEWEST_WORDS})
        self._known = frozenset(self.texts)
        self._index = MinHashLSH(threshold=CANDIDATE, num_perm=PERMUTATIONS)
        for number, text in enumerate(self.texts):
            self._index.insert(number, _minhash(text))

    def match(self, text: str) -> str | None:
        """Return "exact" or "near" for a text that occurs here, else None."""
        text = normalised(text)
        if text.count(" ") + 1 < FEWEST_WORDS:
            return None
        if text in self._known:
            return "exact"
        own = grams(text)
        candidates = self._index.query(_minhash(text))
        is_near = any(jaccard(own, grams(self.texts[number])) >= NEAR for number in candidates)
        return "near" if is_near else None


def count_overlap(
    learnt: Learnt, items: Sequence[Sequence[Mapping[str, str]]], instruction: str = ""
) -> dict[str, int]:
    """Return `n_items`, `n_exact` and `n_near`: each item counts once, by its best match.

    Args:
        learnt: messages of the training data.
        items: messages of each item.
        instruction: a text that the study appends to prompts and that training data lacks.
    """
    best = []
    for messages in items:
        said = [m["content"].removesuffix(instruction) for m in messages if m["role"] == "user"]
        found = {learnt.match(text) for text in said}
        best.append("exact" if "exact" in found else "near" if "near" in found else None)
    return {"n_items": len(best), "n_exact": best.count("exact"), "n_near": best.count("near")}


def table(material: Material) -> pl.DataFrame:
    """Return how many items of each dataset occur in each model's training data.

    A model that was trained from a trained one has seen the data of both.
    """
    grid = material.grid
    items = {
        Path(path).stem: pl.read_parquet(path, columns=["messages"])["messages"].to_list()
        for path in sorted(material.paths["evaluated_items"])
    }
    own = {Path(path).parent.name: _said(path) for path in sorted(material.paths["training_data"])}
    rows = []
    for model in sorted(own):
        learnt = Learnt(_of_chain(grid.entries, own, model))
        for dataset in sorted(items):
            instruction = grid.dataset_settings(dataset).get("instruction", "")
            counts = count_overlap(learnt, items[dataset], instruction)
            rows.append({"model": model, "dataset": dataset} | counts)
    counted = pl.DataFrame(rows, schema=COUNTED)
    return mark_seen(counted, grid.entries, grid.contents.recipes, items, "model")


def _said(path: str) -> list[str]:
    """Return the texts of all messages in a table of conversations."""
    messages = pl.read_parquet(path, columns=["messages"])["messages"]
    return [message["content"] for conversation in messages for message in conversation]


def _of_chain(
    entries: Mapping[str, Mapping[str, Any]], own: Mapping[str, list[str]], model: str
) -> list[str]:
    messages: list[str] = []
    while model in own:
        messages += own[model]
        model = entries[model].get("base", "")
    return messages


def mark_seen(
    table: pl.DataFrame,
    entries: Entries,
    recipes: Recipes,
    datasets: Iterable[str],
    model: str = "condition",
) -> pl.DataFrame:
    """Return a table with `seen` and `trains_on_the_metric` for each trained model and dataset.

    The dataset `all` is seen if any dataset is. Both are null for models that were not trained
    here, since their training data are unknown.

    Args:
        table: a table with a column of models and a column `dataset`.
        entries: complete model entries by name.
        recipes: recipes of the models that are trained here.
        datasets: names of the study's datasets.
        model: name of the column of models.
    """
    datasets = list(datasets)
    rows = []
    for name in [name for name, entry in entries.items() if "recipe" in entry]:
        seen = trained_on(entries, recipes, name)
        on_metric = trains_on_the_metric(entries, recipes, name)
        rows += [(name, dataset, dataset in seen, on_metric) for dataset in datasets]
        rows.append((name, ALL, bool(seen & set(datasets)), on_metric))
    schema: Schema = {model: pl.String, "dataset": pl.String, **SEEN}
    known = pl.DataFrame(rows, schema=schema, orient="row")
    return table.join(known, on=[model, "dataset"], how="left", maintain_order="left")
