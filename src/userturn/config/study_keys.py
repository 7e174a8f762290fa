"""The keys of a whole configuration: the study, its run, and the defaults of entries."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from userturn.config.dataset_keys import DatasetEntry
from userturn.config.judge_keys import Controls, JudgeCard
from userturn.config.keys import (
    Below1,
    EngineSettings,
    Name,
    Names,
    Natural,
    Positive,
    Selection,
    Share,
    SomeNames,
    Temperature,
    Temperatures,
    Text,
    harmless,
    part,
    program,
)
from userturn.config.model_keys import Answer, FormatEntry, UserTurn


class Margins(TypedDict):
    """The margins within which a rate or a difference counts as nothing."""

    near_zero: Annotated[Below1, part("A rate below it is near zero.")]
    change: Annotated[Below1, part("A smaller change of a rate, up or down, counts as none.")]
    accuracy: Annotated[Below1, part("A smaller loss of accuracy counts as none.")]
    correlation: Annotated[Below1, part("A rank correlation nearer to 0 counts as none.")]
    odds_ratio: Annotated[
        float,
        harmless("An odds ratio from its inverse to itself counts as none.", exclusiveMinimum=1),
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
        Margins, part("What the table equivalence counts as no difference; used there alone.")
    ]


class Against(TypedDict, total=False):
    """The baseline of a predicted change, by one of these keys."""

    temperature: Annotated[float, harmless("Temperature of the baseline.", minimum=0)]
    perturbation: Annotated[str, harmless("Perturbation of the baseline.")]


class Prediction(TypedDict, total=False):
    """A predicted rate, or change of a rate, and the limits between which it should lie."""

    says: Annotated[Text, part("The claim in words.")]
    of: Annotated[Literal["follow-up", "accuracy"], harmless("Measure; default: follow-up.")]
    model: Annotated[str, harmless("The model that it is about.")]
    family: Annotated[str, harmless("The family that it is about, instead of a model.")]
    dataset: Annotated[str, harmless("The dataset; default: all.")]
    temperature: Annotated[float, harmless("The temperature; default: the lowest.", minimum=0)]
    perturbation: Annotated[str, harmless("The perturbation; default: `none`.")]
    against: Annotated[Against, part("Baseline: with it a change is predicted, not a rate.")]
    above: Annotated[float, harmless("Lower limit of the predicted value.", minimum=-1, maximum=1)]
    below: Annotated[float, harmless("Upper limit of the predicted value.", minimum=-1, maximum=1)]


DATE = {"pattern": r"^\d{4}-\d{2}-\d{2}$", "form": "a date such as 2026-04-02"}


class AboutStudy(TypedDict, total=False):
    """The name and date at the top of the report."""

    name: Annotated[Text, part("Name of the study.")]
    date: Annotated[str, harmless("Day on which it was begun; no clock is read.", **DATE)]


class PartOfGrid(TypedDict, total=False):
    """The part of the grid from which items for people are drawn."""

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
        Positive, part("Pairs of each cell with the dataset's own answer in all rounds together.")
    ]


ItemsFrom = Annotated[PartOfGrid, part("The part of the grid that items are drawn from.")]
_From = TypedDict("_From", {"from": NotRequired[ItemsFrom]})  # `from` is a word of Python's


class Humans(_From):
    """Rounds of annotation."""

    rounds: Annotated[
        list[Name],
        harmless(
            "Rounds of annotation, the newest last; one that was drawn stays as it is.",
            uniqueItems=True,
        ),
    ]
    judge: Annotated[NotRequired[str], harmless("The judge whose labels make the strata.")]
    per_stratum: Annotated[Positive, part("Turns of each cell and label.")]
    genuine: Annotated[Positive, part("Turns of each cell that the judge calls genuine.")]
    minimum_per_family: Annotated[
        Natural, part("Turns of each model family in all rounds together.")
    ]
    turns: Annotated[
        NotRequired[Positive],
        part(
            "Turns of all rounds together, shared out by Neyman's allocation; left out, the other "
            "numbers decide."
        ),
    ]
    pairs: Annotated[
        NotRequired[PairRounds],
        part("Rounds of pairs: which of two turns, a person's and a model's, did a person write?"),
    ]
    include_private: Annotated[
        bool | list[Name],
        harmless(
            "Private datasets whose rows annotators may see; true for every one.", uniqueItems=True
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


class Likelihood(TypedDict):
    """Which turns are scored, and after which contexts."""

    datasets: Annotated[Names, part("Datasets whose reference follow-ups are scored.")]
    turns: Annotated[Natural, part("Own turns of each cell that are scored; 0 for none.")]
    distractors: Annotated[
        Positive, part("Other answers and other conversations that each turn is scored after.")
    ]
    endings: Annotated[NotRequired[bool], harmless("Whether the end of a turn is scored, too.")]


class Embedder(TypedDict):
    """The model by which turns are compared with people's."""

    source: Annotated[str, program("Hub id or folder of an encoder.", minLength=1)]
    revision: Annotated[
        NotRequired[str],
        harmless("Its commit on the hub.", pattern="^[0-9a-f]{40}$", form="a commit of 40 digits"),
    ]


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
    datasets: Annotated[
        NotRequired[SomeNames],
        part("Datasets whose items begin the conversations; default: those of the run."),
    ]


class Study(TypedDict):
    """A whole configuration. `schema.py` adds the entries that have defaults, and the defaults."""

    study: Annotated[NotRequired[AboutStudy], part("What the report says of the study at its top.")]
    run: Annotated[NotRequired[Run], part("The part of the grid that a run makes.")]
    models: Annotated[Mapping[Name, Any], part("Model entries by name.", minProperties=1)]
    model_defaults: Annotated[Mapping[str, Any], part("Defaults for model entries.")]
    formats: Annotated[
        NotRequired[Mapping[Name, FormatEntry]],
        part(
            "Ways of writing the same conversation for the same model, by name; `default` is the "
            "model's entry as it is."
        ),
    ]
    datasets: Annotated[Mapping[Name, DatasetEntry], part("Datasets by name.", minProperties=1)]
    controls: Annotated[Controls, part("User turns of a known kind that measure each judge.")]
    judge_card: Annotated[
        JudgeCard, part("What a judge must reach before its rates are shown as findings.")
    ]
    likelihood: Annotated[
        NotRequired[Literal[False] | Likelihood],
        part("How likely models find reference follow-ups and their own turns; `off` for neither."),
    ]
    embedder: Annotated[
        NotRequired[Embedder],
        part(
            "An embedder that says how near turns are to what people said (docs/methods.md); "
            "default: none."
        ),
    ]
    self_play: Annotated[
        NotRequired[Literal[False] | SelfPlay],
        part(
            "Whether the model also answers its own user turns, several turns long "
            "(docs/methods.md); `off` for no."
        ),
    ]
    answers_from: Annotated[
        NotRequired[SomeNames],
        part(
            "Models of the run after whose answers every other model is probed, too; `reference` "
            "for the dataset's own answers."
        ),
    ]
    temperatures: Annotated[
        list[Temperature], harmless("Temperatures of the user turn.", minItems=1, uniqueItems=True)
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
    currency: Annotated[
        NotRequired[str],
        harmless(
            "Currency of all prices and of max_cost; default: USD.",
            pattern="^[A-Z]{3}$",
            form="three capitals such as EUR",
        ),
    ]
    humans: Annotated[Humans, part("Which turns people label, and how their labels are taken in.")]
    answer: Annotated[Answer, part("How the model's own answer is sampled.")]
    user_turn: Annotated[UserTurn, part("How the user turn is sampled.")]
    samples: Annotated[Positive, part("Samples per item above temperature 0.")]
    seed: Annotated[Natural, part("The study's one seed.")]
    statistics: Annotated[Statistics, part("How intervals and tests are computed.")]
    today: Annotated[str, harmless("The date that chat templates are given.", **DATE)]
    language_detector: Annotated[
        NotRequired[Literal["py3langid"]],
        harmless("What detects languages; without it langdetect, as in earlier studies."),
    ]
    predictions: Annotated[
        NotRequired[Mapping[Name, Prediction]], part("What the study predicts of itself, by name.")
    ]
    engine: Annotated[Literal["vllm", "transformers"], harmless("What runs the models.")]
    vllm: Annotated[EngineSettings, part("Settings of the vLLM engine, for every model.")]
    determinism: Annotated[
        Literal["exact", "best_effort"],
        harmless("What the study claims about a request that is run again."),
    ]
    max_unscored_share: Annotated[
        Share, part("A cell fails if a judge leaves a larger share of it without a verdict.")
    ]
    max_error_share: Annotated[
        Share, part("A cell, or a table of scores, fails if a larger share are errors.")
    ]
