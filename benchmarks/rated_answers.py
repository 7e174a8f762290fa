"""Does what follows an answer say how people rated it? On published conversations, with a plan.

Run from the project's root: `python benchmarks/rated_answers.py TREES`. TREES is the file of
`heuristic.py`: in it people ranked the answers to one message, and other people replied to some of
them. Each reply is a follow-up or not by the rules, and has a likelihood gain by the demo's model:
how much likelier it is after its own answer than after another conversation's, in nats a token.

Registered before any number of it was seen (the commit that adds this file):

1. People react more often to the answer that was ranked best than to others (difference above 0).
2. The gain is larger after the best answer than after others (difference above 0).
3. A reply that the rules call a follow-up has the larger gain (difference above 0).

Each is a difference of means with 95% limits over conversations; a prediction holds if they are
above 0, fails if they are below, and is undecided else. All are printed, whatever they are.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.heuristic import replies, trees_of
from benchmarks.likelihood_turns import SMOLLM2, Known, log_likelihoods
from userturn.config.load import load_config
from userturn.judges.heuristic import judge_by_words
from userturn.models.engine import load_engine
from userturn.models.fetch import model_folder
from userturn.prompts.load_template import load_template
from userturn.stats.rng import generator

N_RESAMPLES = 10_000


class Rated(NamedTuple):
    """One reply to a ranked answer.

    Attributes:
        conversation: the tree.
        is_best: whether people ranked the answer first.
        is_followup: whether the rules call the reply one; None where they are silent.
        gain: its likelihood gain.
    """

    conversation: str
    is_best: bool
    is_followup: bool | None
    gain: float


def rated(trees: Path) -> list[Rated]:
    """Return the replies of people to ranked answers, each with its gain."""
    found = [
        (Known("", str(n), "people", True, one.asked, one.answer, text), one.rank == 0)
        for n, root in enumerate(trees_of(trees))
        for one in replies(root, n, [])
        if one.rank is not None
        for text in one.turns
    ]
    folder = model_folder(SMOLLM2, None)
    engine = load_engine("transformers", folder, {"dtype": "float32", "max_model_len": 2048})
    template = load_template(folder, {"enable_thinking": False}, "2026-04-02")
    settings = load_config(["config.yaml"])["judges"]["heuristic"]
    rows = []
    for n, (turn, is_best) in enumerate(found):
        far = [one.answer for one, _ in found if one.conversation != turn.conversation]
        other = str(generator(0, "others", n).choice(far))
        said = judge_by_words(turn.asked, turn.answer, turn.text, settings).genuine
        gain = log_likelihoods(engine, template, turn, other).get("gain_answer", np.nan)
        rows.append(Rated(turn.conversation, is_best, said, float(gain)))
    return rows


def difference(values: Sequence[tuple[str, bool, float]]) -> str:
    """Return the mean where something is so less that where it is not, with limits.

    Args:
        values: conversation, whether it is so, and the value.
    """
    names = np.array([name for name, _, _ in values])
    so = np.array([is_so for _, is_so, _ in values])
    x = np.array([value for _, _, value in values], dtype=float)
    trees = np.unique(names)
    columns = np.stack([x * so, so, x * ~so, ~so], axis=-1)
    sums = np.array([columns[names == tree].sum(0) for tree in trees])
    drawn = generator(0, "rated answers").integers(len(trees), size=(N_RESAMPLES, len(trees)))
    a, n, b, m = np.moveaxis(sums[drawn].sum(1), -1, 0)
    lower, upper = np.nanquantile(a / n - b / m, [0.025, 0.975])
    estimate = x[so].mean() - x[~so].mean()
    outcome = "holds" if lower > 0 else "fails" if upper < 0 else "undecided"
    return f"{estimate:+.3f} [{lower:+.3f}, {upper:+.3f}] | {so.sum()}, {(~so).sum()} | {outcome}"


def main() -> None:
    """Print the row of rated_answers.md of each prediction."""
    rows = [one for one in rated(Path(sys.argv[1])) if np.isfinite(one.gain)]
    scored = [one for one in rows if one.is_followup is not None]
    print("| difference | estimate | replies | outcome |\n|---|---|---|---|")
    for what, values in (
        ("follow-ups, best less others", [(r[0], r[1], float(bool(r[2]))) for r in scored]),
        ("gain, best less others", [(r[0], r[1], r[3]) for r in rows]),
        ("gain, follow-ups less others", [(r[0], bool(r[2]), r[3]) for r in scored]),
    ):
        print(f"| {what} | {difference(values)} |")


if __name__ == "__main__":
    main()
