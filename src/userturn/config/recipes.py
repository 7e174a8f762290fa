"""Training recipes, each a file of data/recipes: the data, the method and the rewards."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

import yaml

from userturn.config.entries import Config
from userturn.config.keys import Names, Natural, Positive, Share, Text, harmless, part, path
from userturn.config.schema import NEEDS_COMMIT, object_schema
from userturn.config.validation import check_values
from userturn.errors import ConfigError, check_name, near_miss, near_path
from userturn.storage.files import read_text

Judge = Annotated[Text, part("An endpoint among the config's judges.")]


class Conversations(TypedDict, total=False):
    """A file of conversations."""

    hub: Annotated[Text, part("Dataset id on the hub; without it `file` is a local path.")]
    revision: Annotated[Text, part("Commit or branch; a branch is resolved to a commit once.")]
    file: Annotated[Required[str], path("JSON lines or Parquet.")]
    format: Annotated[
        Required[Literal["messages", "collabllm"]], harmless("What its columns are called.")
    ]
    minimum_accuracy: Annotated[
        Share, part("Conversations whose own reward for accuracy is lower are left out.")
    ]


class Lora(TypedDict):
    """The LoRA adapter."""

    rank: Annotated[Positive, part("Rank of each update.")]
    alpha: Annotated[
        float, harmless("Its scale; alpha / rank multiplies the update.", exclusiveMinimum=0)
    ]
    dropout: Annotated[Share, part("On the adapter's input.")]
    modules: Annotated[
        str | list[str], harmless("`all-linear`, names of modules, or a pattern of their paths.")
    ]


class Optimisation(TypedDict):
    """The settings of the optimiser's steps."""

    steps: Annotated[NotRequired[Positive], part("Updates of the weights.")]
    epochs: Annotated[
        NotRequired[float],
        harmless("Passes over the turns, in place of `steps`; of sft.", exclusiveMinimum=0),
    ]
    batch: Annotated[Positive, part("Rows that are on the device at once.")]
    accumulation: Annotated[Positive, part("Batches in one update.")]
    learning_rate: Annotated[float, harmless("The highest one.", exclusiveMinimum=0)]
    schedule: Annotated[Literal["constant", "linear", "cosine"], harmless("How it falls.")]
    warmup: Annotated[
        float, harmless("Share of the steps in which it rises.", minimum=0, exclusiveMaximum=1)
    ]
    checkpoint_every: Annotated[Positive, part("Steps between two checkpoints.")]
    gradient_checkpointing: Annotated[
        NotRequired[bool], harmless("Less memory, a third more time.")
    ]
    seed: Annotated[Natural, part("Of order, dropout and draws.")]


class Sft(TypedDict, total=False):
    """Supervised fine-tuning."""

    loss_on: Annotated[
        Required[list[Literal["assistant", "user"]]],
        harmless(
            "Whose turns are learnt; of the user's, those after an answer.",
            minItems=1,
            uniqueItems=True,
        ),
    ]
    shuffled: Annotated[
        bool, harmless("User turns are learnt after the answer of another conversation: a control.")
    ]
    max_tokens: Annotated[
        Required[Positive], part("Of a turn with its prompt; what is longer is cut at its end.")
    ]
    validation: Annotated[
        Share, part("Of the conversations; these are not learnt, and their loss is recorded.")
    ]


class Simulator(TypedDict):
    """The endpoint that plays the user."""

    endpoint: Judge
    turns: Annotated[Positive, part("Of the simulated user at most.")]


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


class Gain(TypedDict):
    """A reward without a judge: the gain of the user turn, computed by the base."""

    weight: Annotated[float, harmless("Of a nat a character, over answers of others.")]


class Rewards(TypedDict, total=False):
    """The rewards."""

    accuracy: Annotated[Accuracy, part("A right last answer.")]
    interactivity: Annotated[Interactivity, part("What an endpoint says of the conversation.")]
    length: Annotated[Length, part("The assistant's tokens.")]
    followup: Annotated[Followup, part("The judge's verdict on a user turn.")]
    gain: Annotated[Gain, part("The likelihood gain of a user turn, by the base.")]


class Grpo(TypedDict):
    """Group relative policy optimisation."""

    turn: Annotated[
        Literal["assistant", "user"],
        harmless("Whose turn the model writes; the user's turn is the probe."),
    ]
    draws: Annotated[
        int, harmless("Turns drawn for each prompt; they are compared with one another.", minimum=2)
    ]
    max_prompt_tokens: Annotated[Positive, part("Prompts that are longer are left out.")]
    max_tokens: Annotated[Positive, part("Of a turn.")]
    temperature: Annotated[float, harmless("Of the draws.", exclusiveMinimum=0)]
    kl: Annotated[float, harmless("Weight of the distance from the base.", minimum=0)]
    iterations: Annotated[
        int,
        harmless(
            "Passes over each batch of draws; a killed training continues exactly with one alone.",
            minimum=1,
            maximum=1,
        ),
    ]
    clip: Annotated[
        float, harmless("Of the probability ratio on both sides.", exclusiveMinimum=0, maximum=1)
    ]
    simulator: Annotated[
        NotRequired[Simulator], part("Who plays the user in the turns after the drawn one.")
    ]
    rewards: Annotated[Rewards, part("What is rewarded; the sum by weight.", minProperties=1)]


class Curve(TypedDict):
    """The measurements at each checkpoint, over conversations that are not trained on."""

    items: Annotated[Positive, part("Conversations.")]
    max_tokens: Annotated[Positive, part("Of an answer, and of the user turn after it.")]
    verifier: Annotated[
        NotRequired[Literal["numeric", "math"]],
        harmless("What grades answers, where the conversation has a reference answer."),
    ]


class RecipeKeys(TypedDict):
    """A whole recipe."""

    method: Annotated[
        Literal["sft", "grpo"],
        harmless("Supervised fine-tuning or group relative policy optimisation."),
    ]
    trained_on: Annotated[
        Names, part("Datasets of the config that it has seen; all others are held out.")
    ]
    trains_on_the_metric: Annotated[
        NotRequired[bool], harmless("A reward is the verdict that the study itself reports.")
    ]
    data: Annotated[list[Conversations], part("Files of conversations.", minItems=1)]
    lora: Annotated[Lora, part("The adapter, as peft has it.")]
    optimisation: Annotated[Optimisation, part("How the steps are made.")]
    sft: Annotated[NotRequired[Sft], part("For the method sft.")]
    grpo: Annotated[NotRequired[Grpo], part("For the method grpo.")]
    curve: Annotated[
        NotRequired[Curve],
        part("Checkpoints that are measured as they are made; default: none."),
    ]


RECIPES = Path("data/recipes")
OF_USER_TURNS = ("followup", "gain")  # rewards of the turn that the study probes
# The instruction of an endpoint by its purpose. A judge of follow-ups has a prompt of its own.
PROMPTS = {
    "simulator": Path("data/simulator_prompt.txt"),
    "interactivity": Path("data/interactivity_prompt.txt"),
}
TRAINING_VERSION = 2  # of the code: another one trains every model anew

Recipe = Mapping[str, Any]
ITS_METHOD = {
    "if": {"properties": {"method": {"const": "sft"}}},
    "then": {"required": ["sft"]},
    "else": {"required": ["grpo"]},
}
FOLLOW_UPS = {"properties": {"rewards": {"required": ["followup"]}}}
SAYS_SO = {
    "if": {"required": ["grpo"], "properties": {"grpo": FOLLOW_UPS}},
    "then": {
        "required": ["trains_on_the_metric"],
        "properties": {"trains_on_the_metric": {"const": True}},
    },
}


def recipe_schema() -> dict[str, Any]:
    """Return the JSON Schema of a recipe."""
    schema = object_schema(RecipeKeys)
    schema["properties"]["data"]["items"] |= NEEDS_COMMIT
    return schema | {"allOf": [ITS_METHOD, SAYS_SO]}


def load_recipe(name: str) -> dict[str, Any]:
    """Return a recipe by its name, or raise ConfigError."""
    path = RECIPES / f"{name}.yaml"
    if not path.is_file():
        near = near_miss(name, (file.stem for file in RECIPES.glob("*.yaml")))
        raise ConfigError(f"recipe '{name}': there is no file '{path}'{near}")
    try:
        recipe: dict[str, Any] = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        raise ConfigError(
            f"'{path}' is not YAML ({str(error).splitlines()[0]}); correct it"
        ) from None
    check_values(recipe, recipe_schema(), (str(path),))
    return recipe


def endpoints_of(recipe: Recipe) -> dict[str, str]:
    """Return the names of the configuration's judges that a recipe asks, by purpose."""
    grpo = recipe.get("grpo", {})
    rewards = grpo.get("rewards", {})
    named = {
        "simulator": grpo.get("simulator", {}).get("endpoint"),
        "interactivity": rewards.get("interactivity", {}).get("endpoint"),
        "followup": rewards.get("followup", {}).get("judge"),
    }
    return {what: name for what, name in named.items() if name is not None}


def check_recipe(name: str, config: Config) -> None:
    """Check that a recipe can be followed with this configuration, or raise ConfigError."""
    recipe, where = load_recipe(name), f"{RECIPES / name}.yaml"
    for dataset in recipe["trained_on"]:
        check_name(f"{where}: trained_on", dataset, config["datasets"], "not a dataset")
    for source in recipe["data"]:
        if "hub" not in source and not Path(source["file"]).is_file():
            raise ConfigError(
                f"{where}: the file '{source['file']}' does not exist; under `data` correct "
                f"the path{near_path(source['file'])}"
            )
    lengths = {"steps", "epochs"} & set(recipe["optimisation"])
    if len(lengths) != 1 or (recipe["method"] == "grpo" and lengths != {"steps"}):
        raise ConfigError(
            f"{where}: optimisation: found {' and '.join(sorted(lengths)) or 'no length'}, "
            "expected `steps`, or for sft alone `epochs`; correct it"
        )
    grpo = recipe.get("grpo", {"turn": None, "rewards": {}})
    for reward in grpo["rewards"]:
        if (reward in OF_USER_TURNS) != (grpo["turn"] == "user"):
            raise ConfigError(
                f"{where}: the reward '{reward}' is not for a turn of the {grpo['turn']}: "
                f"{' and '.join(OF_USER_TURNS)} reward the user's turn, all others the "
                "assistant's; correct `rewards`"
            )
    learnt = recipe.get("sft", {})
    if learnt.get("shuffled") and learnt["loss_on"] != ["user"]:
        raise ConfigError(
            f"{where}: sft.loss_on: found {learnt['loss_on']} with `shuffled`, expected [user], "
            "since answers to other questions would be learnt as answers; correct it"
        )
    for what, judge in endpoints_of(recipe).items():
        if judge not in config["judges"]:
            near = near_miss(judge, config["judges"])
            raise ConfigError(
                f"{where}: {what}: '{judge}' is not among the config's judges; give it an entry "
                f"under `judges`{near}"
            )
