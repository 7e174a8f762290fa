"""The keys of what people label."""

from typing import Annotated, NotRequired, TypedDict

from userturn.config.keys import harmless, part
from userturn.config.shared_keys import Name, Selection, Temperatures


class PartOfGrid(TypedDict, total=False):
    """The part of the grid that people's items are drawn from."""

    models: Selection
    formats: Selection
    datasets: Selection
    temperatures: Temperatures
    perturbations: Selection


class PairRounds(TypedDict):
    """Rounds in which people tell a person's turn from a model's."""

    rounds: Annotated[
        list[Name],
        harmless(
            "Rounds of pairs, the newest last; one that was drawn stays as it is.", uniqueItems=True
        ),
    ]
    per_cell: Annotated[
        int,
        harmless(
            "Pairs of each cell with the dataset's own answer in all rounds together.", minimum=1
        ),
    ]


Drawn = Annotated[PartOfGrid, part("The part of the grid that items are drawn from.")]
_From = TypedDict("_From", {"from": NotRequired[Drawn]})  # `from` is a word of Python's


class Humans(_From):
    """Rounds of annotation."""

    rounds: Annotated[
        list[Name],
        harmless(
            "Rounds of annotation, the newest last; one that was drawn stays as it is.",
            uniqueItems=True,
        ),
    ]
    judge: NotRequired[Annotated[str, harmless("The judge whose labels make the strata.")]]
    per_stratum: Annotated[int, harmless("Turns of each cell and label.", minimum=1)]
    genuine: Annotated[int, harmless("Turns of each cell that the judge calls genuine.", minimum=1)]
    minimum_per_family: Annotated[
        int, harmless("Turns of each model family in all rounds together.", minimum=0)
    ]
    turns: NotRequired[
        Annotated[
            int,
            harmless(
                "Turns of all rounds together, shared out by Neyman's allocation; left out, the "
                "other numbers decide.",
                minimum=1,
            ),
        ]
    ]
    pairs: NotRequired[
        Annotated[
            PairRounds,
            part(
                "Rounds of pairs: which of two turns, a person's and a model's, did a person write?"
            ),
        ]
    ]
    include_private: Annotated[
        bool | list[Name],
        harmless(
            "Private datasets whose rows annotators may see; true for every one.",
            uniqueItems=True,
        ),
    ]
    skip_problems: Annotated[
        bool, harmless("Leave bad rows of annotations out instead of taking none.")
    ]
