"""Table `training_overlap`: items that occur in training data, exactly, nearly or as a part.

Exactly: a user message of the item and a message, goal or reference of the training data have the
same words. Nearly: the Jaccard similarity of their sets of character 5-grams is 0.8 or more (Lee et
al. 2022, arXiv:2107.06499, find near duplicates by MinHash at that threshold). Candidates come from
datasketch's MinHash index, and each is then compared exactly. As a part: one holds the other, by
runs of words, since Jaccard similarity is low where one text is much longer: a problem inside a
request, or half of a problem. Of GSM8K, MATH-500 and HealthBench 97% of such forms were found, and
of 1,800 unrelated items none (benchmarks/posttraining.md).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from userturn.storage.table_files import Schema
from userturn.tables.added_columns import SEEN, mark_seen
from userturn.tables.make_tables import Material
from userturn.workflow.registry import Table

WORD_OR_SIGN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
RUN = 3  # words in a row; of Chinese and Japanese, characters
FEWEST_RUNS = 2  # runs of the shorter text: four words
SHARE = 0.8  # of the runs of the shorter text
LEAST_PART = 0.15  # of an item's runs, if the training text is the shorter one

Runs = frozenset[tuple[str, ...]]


def runs(text: str) -> Runs:
    """Return the runs of three words of a text, in lower case."""
    words = WORD_OR_SIGN.findall(text.casefold())
    return frozenset(tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1))


def contained(items: Sequence[Sequence[str]], conversations: Iterable[Sequence[str]]) -> set[int]:
    """Return the positions of items that hold a training text or that a conversation holds."""
    of_items = [(n, runs(text)) for n, texts in enumerate(items) for text in texts]
    places: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for position, (_, runs_of_item) in enumerate(of_items):
        for run in runs_of_item:
            places[run].append(position)
    hits: set[int] = set()
    for texts in conversations:
        parts = [runs(text) for text in texts]
        whole = frozenset[tuple[str, ...]]().union(*parts)
        for position, n in Counter(p for run in whole for p in places.get(run, ())).items():
            number, item = of_items[position]
            if _holds(n, item) or any(_is_part(part, item) for part in parts):
                hits.add(number)
    return hits


def _holds(n_shared: int, shorter: Runs) -> bool:
    return len(shorter) >= FEWEST_RUNS and n_shared >= SHARE * len(shorter)


def _is_part(text: Runs, item: Runs) -> bool:
    n = len(text & item)
    return n >= LEAST_PART * len(item) and _holds(n, text)


TABLE = Table(
    rule="measure_training_overlap",
    place=360,
    row="a trained model and dataset",
    made_of=("training_data", "evaluated_items"),
    settings=("exposure",),
    needs="training_data",
    version=2,
)
MEANINGS = {"n_items": "items of the dataset"}
WORD = re.compile(r"\w+")
FEWEST_WORDS = 5  # shorter texts recur by chance
GRAM = 5
NEAR = 0.8
CANDIDATE = 0.6  # threshold of the index, which is only approximate
PERMUTATIONS = 128
KINDS = ("exact", "near", "contained")
COUNTED: Schema = {
    "model": pl.String,
    "dataset": pl.String,
    **dict.fromkeys(("n_items", "n_exact", "n_near", "n_contained"), pl.Int64),
}
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
    """The messages of some training data, indexed to look up texts in them."""

    def __init__(self, messages: Iterable[str]) -> None:
        from datasketch import MinHashLSH

        texts = map(normalised, messages)
        self.texts = sorted({text for text in texts if text.count(" ") + 1 >= FEWEST_WORDS})
        self._known = frozenset(self.texts)
        self._index = MinHashLSH(threshold=CANDIDATE, num_perm=PERMUTATIONS)
        for number, text in enumerate(self.texts):
            self._index.insert(number, _minhash(text))

    def match(self, text: str) -> str | None:
        """Return "exact" or "near" for a text that occurs in the training data, else None."""
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
    learnt: Learnt, items: Sequence[Sequence[str]], conversations: Sequence[Sequence[str]]
) -> dict[str, int]:
    """Return the number of items, and of those that occur, each under its best kind of match."""
    parts = contained(items, conversations)
    best = []
    for number, texts in enumerate(items):
        matches = {*map(learnt.match, texts), "contained" if number in parts else None}
        best.append(next((kind for kind in KINDS if kind in matches), None))
    return {"n_items": len(best), **{f"n_{kind}": best.count(kind) for kind in KINDS}}


def texts_of(row: Mapping[str, Any], instruction: str = "") -> list[str]:
    """Return an item's texts: its user messages and its reference.

    `instruction` is what the study appends to prompts. It is removed, since training data lack it.
    """
    messages = [m["content"] for m in row["messages"] if m["role"] == "user"]
    texts = [text.removesuffix(instruction) for text in messages]
    return [*texts, *filter(None, [row.get("reference_answer")])]


def table(material: Material) -> pl.DataFrame:
    """Return the number of each dataset's items that occur in each model's training data.

    A model that was trained from a trained one has seen the data of both.
    """
    grid = material.grid
    columns = ["messages", "reference_answer"]
    items = {
        Path(path).stem: pl.read_parquet(path, columns=columns).to_dicts()
        for path in sorted(material.paths["evaluated_items"])
    }
    own = {Path(path).parent.name: _texts(path) for path in sorted(material.paths["training_data"])}
    rows = []
    for model in sorted(own):
        conversations, name = [], model
        while name in own:
            conversations += own[name]
            name = grid.entries[name].get("base", "")
        learnt = Learnt(text for texts in conversations for text in texts)
        for dataset in sorted(items):
            instruction = grid.dataset_settings(dataset).get("instruction", "")
            of_items = [texts_of(row, instruction) for row in items[dataset]]
            counts = count_overlap(learnt, of_items, conversations)
            rows.append({"model": model, "dataset": dataset} | counts)
    counted = pl.DataFrame(rows, schema=COUNTED)
    return mark_seen(counted, grid.entries, grid.contents.recipes, items, "model")


def _texts(path: str) -> list[list[str]]:
    rows = pl.read_parquet(path, columns=["messages", "goal", "reference_answer"]).to_dicts()
    return [
        [m["content"] for m in row["messages"]]
        + [row[name] for name in ("goal", "reference_answer") if row[name]]
        for row in rows
    ]
