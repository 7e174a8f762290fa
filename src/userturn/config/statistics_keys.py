"""The keys of how a study's intervals and tests are computed."""

from typing import Annotated, TypedDict

from userturn.config.keys import harmless, part
from userturn.config.shared_keys import Below1


class Margins(TypedDict):
    """What counts as nothing."""

    near_zero: Annotated[Below1, part("A rate below it is near zero.")]
    change: Annotated[Below1, part("A smaller change of a rate, up or down, is none.")]
    accuracy: Annotated[Below1, part("A smaller loss of accuracy is none.")]
    correlation: Annotated[Below1, part("A rank correlation nearer to 0 is none.")]
    odds_ratio: Annotated[
        float,
        harmless("An odds ratio between its inverse and itself is none.", exclusiveMinimum=1),
    ]


class Statistics(TypedDict):
    """How intervals and tests are computed."""

    resamples: Annotated[
        int,
        harmless(
            "Random permutations of a rank correlation of 12 models or more; a small p takes up to "
            "100 times as many. Fewer models have an exact p.",
            minimum=100,
        ),
    ]
    margins: Annotated[
        Margins, part("What the table equivalence takes as nothing; no other table depends on it.")
    ]
