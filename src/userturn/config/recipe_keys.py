"""The keys of a recipe in data/recipes: what a base is trained on, how, and towards what."""

from typing import Annotated, Literal, NotRequired, TypedDict

from userturn.config.keys import harmless, part, path
from userturn.config.shared_keys import Share

Judge = Annotated[str, harmless("An endpoint among the config's judges.", minLength=1)]


class Conversations(TypedDict):
    """A file of conversations."""

    hub: NotRequired[
        Annotated[
            str, harmless("Dataset id on the hub; without it `file` is a local path.", minLength=1)
        ]
    ]
    revision: NotRequired[
        Annotated[
            str, harmless("Commit or branch; a branch is resolved to a commit once.", minLength=1)
        ]
    ]
    file: Annotated[str, path("JSON lines or Parquet.")]
    format: Annotated[Literal["messages", "collabllm"], harmless("What its columns are called.")]
    minimum_accuracy: NotRequired[
        Annotated[Share, part("Conversations whose own reward for accuracy is lower are left out.")]
    ]


class Lora(TypedDict):
    """The adapter."""

    rank: Annotated[int, harmless("Rank of each update.", minimum=1)]
    alpha: Annotated[
        float, harmless("Its scale; alpha / rank multiplies the update.", exclusiveMinimum=0)
    ]
    dropout: Annotated[Share, part("On the adapter's input.")]
    modules: Annotated[
        str | list[str], harmless("`all-linear`, names of modules, or a pattern of their paths.")
    ]


class Optimisation(TypedDict):
    """How the steps are made."""

    steps: Annotated[int, harmless("Updates of the weights.", minimum=1)]
    batch: Annotated[int, harmless("Rows that are on the device at once.", minimum=1)]
    accumulation: Annotated[int, harmless("Batches in one update.", minimum=1)]
    learning_rate: Annotated[float, harmless("The highest one.", exclusiveMinimum=0)]
    schedule: Annotated[Literal["constant", "linear", "cosine"], harmless("How it falls.")]
    warmup: Annotated[
        float,
        harmless("Share of the steps in which it rises.", minimum=0, exclusiveMaximum=1),
    ]
    checkpoint_every: Annotated[int, harmless("Steps between two checkpoints.", minimum=1)]
    gradient_checkpointing: NotRequired[
        Annotated[bool, harmless("Less memory, a third more time.")]
    ]
    seed: Annotated[int, harmless("Of order, dropout and draws.", minimum=0)]


class Sft(TypedDict):
    """Supervised fine-tuning."""

    loss_on: Annotated[
        list[Literal["assistant", "user"]],
        harmless(
            "Whose turns are learnt; of the user's, those after an answer.",
            minItems=1,
            uniqueItems=True,
        ),
    ]
    max_tokens: Annotated[
        int, harmless("Of a conversation; what is longer is cut at its end.", minimum=1)
    ]


class Simulator(TypedDict):
    """Who plays the user."""

    endpoint: Judge
    turns: Annotated[int, harmless("Of the simulated user at most.", minimum=1)]


class Accuracy(TypedDict):
    """A reward for a right answer."""

    weight: Annotated[float, harmless("Of 1 for a right last answer.")]
    verifier: Annotated[Literal["numeric", "math"], harmless("What grades it.")]


class Interactivity(TypedDict):
    """A reward that an endpoint gives."""

    weight: Annotated[float, harmless("Of the endpoint's score, 0 to 1.")]
    endpoint: Judge


class Length(TypedDict):
    """A reward for length."""

    weight: Annotated[
        float, harmless("Of a thousand tokens of the assistant; negative for short ones.")
    ]


class Followup(TypedDict):
    """A reward for a follow-up."""

    weight: Annotated[float, harmless("Of 1 for a genuine follow-up.")]
    judge: Annotated[Judge, part("One of the config's judges.")]


class Rewards(TypedDict, total=False):
    """What is rewarded."""

    accuracy: Annotated[Accuracy, part("A right last answer.")]
    interactivity: Annotated[Interactivity, part("What an endpoint says of the conversation.")]
    length: Annotated[Length, part("The assistant's tokens.")]
    followup: Annotated[Followup, part("The judge's verdict on a user turn.")]


class Grpo(TypedDict):
    """Group relative policy optimisation."""

    turn: Annotated[
        Literal["assistant", "user"],
        harmless("Whose turn the model writes; the user's turn is the probe."),
    ]
    draws: Annotated[
        int,
        harmless("Turns drawn for each prompt; they are compared with one another.", minimum=2),
    ]
    max_prompt_tokens: Annotated[int, harmless("Prompts that are longer are left out.", minimum=1)]
    max_tokens: Annotated[int, harmless("Of a turn.", minimum=1)]
    temperature: Annotated[float, harmless("Of the draws.", exclusiveMinimum=0)]
    kl: Annotated[float, harmless("Weight of the distance from the base.", minimum=0)]
    iterations: Annotated[int, harmless("Passes over each batch of draws.", minimum=1)]
    clip: Annotated[
        float,
        harmless("Of the probability ratio on both sides.", exclusiveMinimum=0, maximum=1),
    ]
    simulator: NotRequired[
        Annotated[Simulator, part("Who plays the user in the turns after the drawn one.")]
    ]
    rewards: Annotated[Rewards, part("What is rewarded; the sum by weight.", minProperties=1)]


class RecipeKeys(TypedDict):
    """A whole recipe."""

    method: Annotated[
        Literal["sft", "grpo"],
        harmless("Supervised fine-tuning or group relative policy optimisation."),
    ]
    trained_on: Annotated[
        list[str],
        harmless(
            "Datasets of the config that it has seen; all others are held out.", uniqueItems=True
        ),
    ]
    trains_on_the_metric: NotRequired[
        Annotated[bool, harmless("A reward is the verdict that the study itself reports.")]
    ]
    data: Annotated[list[Conversations], part("Files of conversations.", minItems=1)]
    lora: Annotated[Lora, part("The adapter, as peft has it.")]
    optimisation: Annotated[Optimisation, part("How the steps are made.")]
    sft: NotRequired[Annotated[Sft, part("For the method sft.")]]
    grpo: NotRequired[Annotated[Grpo, part("For the method grpo.")]]
