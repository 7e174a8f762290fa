"""Effects of a two-way layout: of its rows, of its columns, and of both together."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from userturn.stats.proportions import Array


class Effect(NamedTuple):
    """An effect on a rate, as coefficients of the rates of all pairs: speakers x answerers.

    Attributes:
        name: speaker, answerer, interaction, or own answers.
        speaker: of the row, if it is of one.
        answerer: of the column, if it is of one.
        coefficients: that the rates are multiplied with.
    """

    name: str
    speaker: str | None
    answerer: str | None
    coefficients: Array


def two_way_effects(speakers: Sequence[str], answerers: Sequence[str]) -> Iterator[Effect]:
    """Yield the effects of rates by speaker and answerer, as deviations that sum to zero.

    The mean of a row, or of a column, less that of all; of a pair, what its rate has beyond both
    (Scheffé 1959, The Analysis of Variance, section 4.1). A single row or column has no effect.
    """
    shape = len(speakers), len(answerers)
    rates = np.eye(shape[0] * shape[1]).reshape(*shape, *shape)  # each rate as coefficients
    mean, rows, columns = rates.mean((0, 1)), rates.mean(1), rates.mean(0)
    both = rates - rows[:, None] - columns[None, :] + mean
    if shape[0] > 1:
        for i, name in enumerate(speakers):
            yield Effect("speaker", name, None, rows[i] - mean)
    if shape[1] > 1:
        for j, name in enumerate(answerers):
            yield Effect("answerer", None, name, columns[j] - mean)
    if min(shape) > 1:
        for i, speaker in enumerate(speakers):
            for j, answerer in enumerate(answerers):
                yield Effect("interaction", speaker, answerer, both[i, j])
        own = [both[speakers.index(name), j] for j, name in enumerate(answerers)
               if name in speakers]  # fmt: skip
        if own:
            yield Effect("own answers", None, None, np.mean(own, axis=0))
