"""The keys of a configuration: a study, the part of it that is run, and what entries start from."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from userturn.config.dataset_keys import DatasetEntry
from userturn.config.keys import harmless, part
from userturn.config.model_keys import FormatEntry
from userturn.config.prediction_keys import Prediction
from userturn.config.shared_keys import (
    EngineSettings,
    MaxTokens,
    Name,
    PresencePenalty,
    Selection,
    Share,
    Temperature,
    Temperatures,
    TopK,
    TopP,
)
from userturn.config.statistics_keys import Statistics

DATE = {"pattern": r"^\d{4}-\d{2}-\d{2}$", "form": "a date such as 2026-04-02"}


class AboutStudy(TypedDict, total=False):
    """What the report says of a study at its top."""

    name: Annotated[str, harmless("Name of the study.", minLength=1)]
    date: Annotated[str, harmless("When it was begun; no clock is read for it.", **DATE)]


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


class Run(TypedDict, total=False):
    """The part of the grid that a run makes."""

    models: Selection
    datasets: Selection
    temperatures: Temperatures
    perturbations: Selection
    formats: Selection
    judges: Selection


class Controls(TypedDict):
    """User turns of a known kind."""

    human: Annotated[
        list[str], harmless("Datasets whose real user turns are judged.", uniqueItems=True)
    ]
    planted: Annotated[
        int, harmless("Items of each model and dataset that get every planted failure.", minimum=0)
    ]
    labelled: NotRequired[
        Annotated[bool, harmless("Whether every judge reads the turns of data/labelled.")]
    ]
    injected: NotRequired[
        Annotated[bool, harmless("Whether judges read conversations with an injection.")]
    ]
    chance_floor: NotRequired[
        Annotated[int, harmless("User turns of each cell judged after another answer.", minimum=0)]
    ]
    edited: NotRequired[
        Annotated[
            int,
            harmless("User turns of each cell that are judged after edited answers.", minimum=0),
        ]
    ]


class JudgeCard(TypedDict):
    """What a judge must reach."""

    min_sensitivity: Annotated[
        Share, part("Least lower limit of the share of genuine turns that it calls genuine.")
    ]
    min_specificity: Annotated[
        Share, part("Least lower limit of the share of other turns not called genuine.")
    ]
    min_kappa: NotRequired[
        Annotated[float, harmless("Of earlier versions; nothing depends on it.")]
    ]


class Likelihood(TypedDict):
    """Which turns are scored, and after what."""

    datasets: Annotated[
        list[str], harmless("Datasets whose reference follow-ups are scored.", uniqueItems=True)
    ]
    turns: Annotated[
        int, harmless("Own turns of each cell that are scored; 0 for none.", minimum=0)
    ]
    distractors: Annotated[
        int,
        harmless(
            "Other answers and other conversations that each turn is scored after.", minimum=1
        ),
    ]
    endings: NotRequired[Annotated[bool, harmless("Whether the end of a turn is scored, too.")]]


class SelfPlay(TypedDict):
    """Conversations of a model with itself."""

    turns: Annotated[
        int,
        harmless(
            "User turns of each conversation; the first is that of the cell without a "
            "perturbation.",
            minimum=2,
        ),
    ]
    datasets: NotRequired[
        Annotated[
            list[str],
            harmless(
                "Datasets whose items begin the conversations; those of the run, where left out.",
                minItems=1,
                uniqueItems=True,
            ),
        ]
    ]


class UserTurn(TypedDict):
    """How the user turn is sampled."""

    top_p: TopP
    top_k: TopK
    presence_penalty: PresencePenalty
    max_tokens: MaxTokens


class Answer(UserTurn):
    """How the model's own answer is sampled."""

    samples: NotRequired[
        Annotated[
            int,
            harmless(
                "Answers of each item of a graded dataset, of which signals choose the best; 1, "
                "where left out.",
                minimum=1,
            ),
        ]
    ]
    temperature: Temperature


class Study(TypedDict):
    """A whole configuration; `schema.py` adds the entries that have defaults, and the defaults."""

    study: NotRequired[Annotated[AboutStudy, part("What the report says of the study at its top.")]]
    run: NotRequired[Annotated[Run, part("The part of the grid that a run makes.")]]
    models: Annotated[Mapping[Name, Any], part("Model entries by name.", minProperties=1)]
    model_defaults: Annotated[Mapping[str, Any], part("Defaults for model entries.")]
    formats: NotRequired[
        Annotated[
            Mapping[Name, FormatEntry],
            part(
                "Ways of writing the same conversation for the same model, by name; `default` is "
                "the model's entry as it is."
            ),
        ]
    ]
    datasets: Annotated[Mapping[Name, DatasetEntry], part("Datasets by name.", minProperties=1)]
    controls: Annotated[Controls, part("User turns of a known kind that measure each judge.")]
    judge_card: Annotated[
        JudgeCard, part("What a judge must reach before its rates are shown as findings.")
    ]
    likelihood: NotRequired[
        Annotated[
            Literal[False] | Likelihood,
            part(
                "How likely models find reference follow-ups and their own turns; `off` for "
                "neither."
            ),
        ]
    ]
    self_play: NotRequired[
        Annotated[
            Literal[False] | SelfPlay,
            part(
                "Whether the model also answers its own user turns, several turns long "
                "(docs/methods.md); `off` for no."
            ),
        ]
    ]
    answers_from: NotRequired[
        Annotated[
            list[str],
            harmless(
                "Models of the run after whose answers every other model is probed, too; "
                "`reference` for the dataset's own answers.",
                minItems=1,
                uniqueItems=True,
            ),
        ]
    ]
    temperatures: Annotated[
        list[Temperature],
        harmless("Temperatures of the user turn.", minItems=1, uniqueItems=True),
    ]
    perturbations: Annotated[
        Mapping[Name, Mapping[str, Any]],
        part(
            "Operators on the answer before the probe, by name; each has keys of its own, checked "
            "when the config is read.",
            minProperties=1,
        ),
    ]
    judges: Annotated[Mapping[Name, Any], part("Judges by name.", minProperties=1)]
    judge_defaults: Annotated[
        Mapping[str, Any], part("Defaults for entries of endpoints and of scored judges.")
    ]
    primary_judge: Annotated[
        str, harmless("The judge whose verdicts figures and comparisons show.")
    ]
    max_cost: Annotated[
        float | None,
        harmless(
            "Most money that all judges and models with a price may cost together; null sets no "
            "limit.",
            minimum=0,
        ),
    ]
    humans: Annotated[Humans, part("Which turns people label, and how their labels are taken in.")]
    answer: Annotated[Answer, part("How the model's own answer is sampled.")]
    user_turn: Annotated[UserTurn, part("How the user turn is sampled.")]
    samples: Annotated[int, harmless("Samples per item above temperature 0.", minimum=1)]
    seed: Annotated[int, harmless("The study's one seed.", minimum=0)]
    statistics: Annotated[Statistics, part("How intervals and tests are computed.")]
    today: Annotated[str, harmless("The date that chat templates are given.", **DATE)]
    language_detector: Annotated[
        NotRequired[Literal["py3langid"]],
        harmless("What tells languages; left out, it is langdetect, as in earlier studies."),
    ]
    predictions: NotRequired[
        Annotated[Mapping[Name, Prediction], part("What the study predicts of itself, by name.")]
    ]
    engine: Annotated[Literal["vllm", "transformers"], harmless("What runs the models.")]
    vllm: Annotated[EngineSettings, part("Settings of the vLLM engine, for every model.")]
    determinism: Annotated[
        Literal["exact", "best_effort"],
        harmless("What the study claims about a request that is run again."),
    ]
    max_unscored_share: Annotated[
        Share, part("A cell of which a judge leaves a larger share without a verdict fails.")
    ]
    max_error_share: Annotated[
        Share, part("A cell, or a table of scores, with a larger share of errors fails.")
    ]
