"""Would a judge of words and likelihoods be better than the heuristic judge's rules?

Run from the project's root: `python benchmarks/likelihood_judge.py TURNS`, a table of
`likelihood_turns.py`. A logistic regression (ridge of 1 on standardised features) is fitted with
ten folds of whole conversations. Its threshold is fixed by the other folds: the score that a tenth
of their turns which are not genuine exceed. Limits are 95%, over conversations. Turns on which the
rules are silent count as not genuine. Features, ridge, folds and threshold were chosen before any
result was seen.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import expit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from userturn.judges.verdict import GENUINE
from userturn.stats.agreement import Ratings, estimate_all
from userturn.stats.discrimination import clustered_auc
from userturn.stats.proportions import Floats, Interval
from userturn.stats.rng import generator
from userturn.tables.turn_rates import rate_over

WORDS = ["in_prompt", "in_answer_alone", "in_either", "pairs_in_answer", "repeated", "log_words"]
WORDS += ["asks", "says_i", "opens_back", "refers_back"]
LIKELIHOODS = ["own", "gain_role", "gain_answer"]
LABELS = [GENUINE, "prompt_restate", "assistant_turn_restate", "generic", "unrelated", "degenerate"]
RULES = [f"rules say {label}" for label in LABELS]
FEATURES = {
    "likelihoods": LIKELIHOODS,
    "words": [*WORDS, *RULES],
    "words and likelihoods": [*WORDS, *RULES, *LIKELIHOODS],
}
RIDGE, N_FOLDS, N_STEPS, N_RESAMPLES = 1.0, 10, 50, 1000
FALSE_POSITIVES = 0.1  # share of the training turns that are not genuine above the threshold
OPERATING = (0.05, 0.1, 0.2)  # false positives at which points of the curve are printed
BINS = {"up to 5 words": (0, 5), "6 to 20 words": (6, 20), "over 20 words": (21, 10**6)}


def read(path: str) -> pl.DataFrame:
    """Return the turns with every feature as a number; a missing likelihood is the mean."""
    said = [(pl.col("rules") == label).fill_null(False).cast(float) for label in LABELS]
    turns = pl.read_parquet(path).with_columns(
        *(column.alias(name) for column, name in zip(said, RULES, strict=True)),
        genuine=pl.col("is_genuine"),
        n_words=pl.col("text").str.extract_all(r"\S+").list.len(),
    )
    return turns.with_columns(pl.col(name).fill_null(pl.col(name).mean()) for name in LIKELIHOODS)


def fitted(x: Floats, y: Floats) -> Floats:
    """Return the weights of a ridge logistic regression by Newton's method; the first is free."""
    penalty = np.diag([0.0, *[RIDGE] * (x.shape[1] - 1)])
    weights = np.zeros(x.shape[1])
    for _ in range(N_STEPS):
        p = expit(x @ weights)
        slope = x.T @ (y - p) - penalty @ weights
        weights += np.linalg.solve((x.T * (p * (1 - p))) @ x + penalty, slope)
    return weights


def trained_on(train: pl.DataFrame, test: pl.DataFrame, names: Sequence[str]) -> Floats:
    """Return the scores of turns less the threshold, both from other turns."""
    x, y = train.select(names).to_numpy(), train["genuine"].to_numpy().astype(float)
    mean, spread = x.mean(0), np.maximum(x.std(0), 1e-9)

    def design(turns: pl.DataFrame) -> Floats:
        values = (turns.select(names).to_numpy() - mean) / spread
        return np.column_stack([np.ones(turns.height), values])

    weights = fitted(design(train), y)
    negative = (design(train) @ weights)[y == 0]
    found: Floats = design(test) @ weights - np.quantile(negative, 1 - FALSE_POSITIVES)
    return found


def cross_validated(turns: pl.DataFrame, names: Sequence[str]) -> Floats:
    """Return the score of each turn less its threshold, from the turns of other folds."""
    conversations = turns["conversation"].unique().sort().to_list()
    order = generator(0, "folds").permutation(len(conversations))
    fold_of = {conversations[i]: n % N_FOLDS for n, i in enumerate(order)}
    folds = np.array([fold_of[name] for name in turns["conversation"]])
    scores = np.empty(turns.height)
    for fold in range(N_FOLDS):
        scores[folds == fold] = trained_on(
            turns.filter(folds != fold), turns.filter(folds == fold), names
        )
    return scores


def shown(found: Interval) -> str:
    """Return an estimate with its limits."""
    if found.estimate is None or found.lower is None or found.upper is None:
        return "-" if found.estimate is None else f"{found.estimate:.2f}"
    return f"{found.estimate:.2f} [{found.lower:.2f}, {found.upper:.2f}]"


def rates(turns: pl.DataFrame, scores: Floats) -> tuple[str, str]:
    """Return sensitivity and false positives above the threshold."""
    said = turns.with_columns(said=pl.Series(scores > 0))

    def share(part: pl.DataFrame) -> str:
        return shown(rate_over(part, ["conversation"], "said")[0])

    return share(said.filter("genuine")), share(said.filter(~pl.col("genuine")))


def kappa(turns: pl.DataFrame, scores: Floats) -> str:
    """Return Cohen's kappa of the two sides at the threshold."""
    codes = np.column_stack([turns["genuine"].to_numpy(), scores > 0]).astype(np.int64)
    clusters = turns["conversation"].to_numpy()
    ratings = Ratings(codes, np.ones(turns.height), clusters, 2)
    found = estimate_all(ratings, ["cohen_kappa"], generator(0, "kappa"))["cohen_kappa"]
    return shown(Interval(found.estimate, found.lower, found.upper))


def curve(turns: pl.DataFrame, scores: Floats) -> str:
    """Return the sensitivity at some shares of false positives."""
    genuine = turns["genuine"].to_numpy()
    at = np.quantile(scores[~genuine], [1 - share for share in OPERATING])
    return ", ".join(f"{(scores[genuine] > limit).mean():.2f}" for limit in at)


def described(turns: pl.DataFrame, scores: Floats) -> str:
    """Return the area, sensitivity, false positives and kappa of scores, in words."""
    area = clustered_auc(scores, turns["genuine"], turns["conversation"].to_list())
    sensitivity, false = rates(turns, scores)
    return (
        f"area {shown(area)}; at the threshold: sensitivity {sensitivity}, false positives "
        f"{false}, kappa {kappa(turns, scores)}"
    )


def difference(turns: pl.DataFrame, one: Floats, other: Floats) -> str:
    """Return the area of one score less that of another, with limits by resampling clusters."""
    genuine, names = turns["genuine"].to_numpy(), turns["conversation"].to_numpy()
    members = [np.flatnonzero(names == name) for name in np.unique(names)]
    random = generator(0, "difference")

    def gap(rows: np.ndarray) -> float:
        areas = [clustered_auc(score[rows], genuine[rows], names[rows]) for score in (one, other)]
        return float(areas[0].estimate or 0) - float(areas[1].estimate or 0)

    drawn = [random.integers(len(members), size=len(members)) for _ in range(N_RESAMPLES)]
    resampled = [gap(np.concatenate([members[i] for i in draw])) for draw in drawn]
    lower, upper = np.quantile(resampled, [0.025, 0.975])
    return shown(Interval(gap(np.arange(len(names))), float(lower), float(upper)))


def compared(turns: pl.DataFrame, scores: dict[str, Floats]) -> Iterator[str]:
    """Yield a line for each judge, then those by length."""
    for name, found in scores.items():
        line = f"  {name}: {described(turns, found)}"
        yield line if name == "rules" else f"{line}; curve {curve(turns, found)}"
    gap = difference(turns, scores["words and likelihoods"], scores["words"])
    yield f"  area that likelihoods add to words: {gap}"
    for label, (least, most) in BINS.items():
        inside = turns["n_words"].is_between(least, most).to_numpy()
        for name in ("rules", "words and likelihoods"):
            both = rates(turns.filter(inside), scores[name][inside])
            yield f"  {label}, {name}: sensitivity {both[0]}, false positives {both[1]}"


def report(path: str) -> Iterator[str]:
    """Yield the results, cross-validated and trained on one source for the other."""
    turns = read(path)
    parts = {name: turns.filter(pl.col("source") == name) for name in ("published", "labelled")}
    for name, part in parts.items():
        said = {"rules": part[RULES[0]].to_numpy() - 0.5}
        other = next(parts[one] for one in parts if one != name)
        n = f"{part['genuine'].sum()} genuine turns, {(~part['genuine']).sum()} others"
        yield f"{name}, cross-validated: {n}, {part['conversation'].n_unique()} conversations"
        own = {what: cross_validated(part, names) for what, names in FEATURES.items()}
        yield from compared(part, said | own)
        yield f"{name}, trained on the other source"
        far = {what: trained_on(other, part, names) for what, names in FEATURES.items()}
        yield from compared(part, said | far)


if __name__ == "__main__":
    print("\n".join(report(sys.argv[1])))
