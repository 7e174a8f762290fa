"""The keys of datasets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Required, TypedDict

from userturn.config.keys import Natural, Positive, SomeNames, Text, harmless, part, path, program

GRADING = Path(__file__).parents[1] / "grading"
# What verifiers share, and what runs them.
NO_VERIFIERS = {"__init__", "grade", "numbers"}


def verifiers() -> list[str]:
    """Return the sorted names of all verifiers without importing their modules."""
    return sorted({path.stem for path in GRADING.glob("*.py")} - NO_VERIFIERS)


LANGUAGE = "[a-z]{2}(-[a-z]{2})?"
Language = Annotated[
    str, harmless(pattern=f"^{LANGUAGE}$", form="a code of two letters such as de")
]
Sha256 = Annotated[
    str,
    harmless(
        pattern="^[0-9a-f]{64}$", form="the 64 hexadecimal digits of a SHA-256, in lower case"
    ),
]
Role = Annotated[str, harmless(enum=["system", "user", "assistant"])]


class Fields(TypedDict, total=False):
    """The columns of a dataset's file."""

    id: Annotated[str, harmless("Unique id of a row; default: a hash of its content.")]
    prompt: Annotated[
        str | list[str],
        harmless(
            "The only user message: a column, or a list of columns that are joined by line breaks, "
            "as are the texts of a column of lists.",
            minItems=1,
        ),
    ]
    messages: Annotated[
        str,
        harmless(
            "List of {role, content}, {from, value} or texts by role, the last one the user's."
        ),
    ]
    tree: Annotated[str, harmless("First message of an OpenAssistant tree.")]
    reference: Annotated[str, harmless("Reference answer for the verifier.")]
    language: Annotated[
        str, harmless("Language of the row, with `language` of the entry; default: detected.")
    ]
    problem: Annotated[
        str, harmless("Id that the row shares with the same problem in other languages.")
    ]
    arguments: Annotated[Mapping[str, str], harmless("What else the verifier needs, by its name.")]


class DatasetEntry(TypedDict, total=False):
    """A dataset's entry: a local `file`, one on the hub, or a split of a dataset on the hub."""

    hub: Annotated[
        str,
        harmless(
            "Dataset id on the hub; without it `file` is a local path.",
            pattern=r"^[\w.-]+(/[\w.-]+)?$",
            form="an id on the hub such as openai/gsm8k",
        ),
    ]
    revision: Annotated[
        str,
        harmless(
            "Commit on the hub.",
            pattern="^[0-9a-f]{40}$",
            form="the 40 hexadecimal digits of a commit",
        ),
    ]
    file: Annotated[
        str | Mapping[Language, Text],
        path(
            "File of rows, in the hub's repository or local; or one for each language, by its "
            "code. With `hub` alone a split is read."
        ),
    ]
    config: Annotated[str, harmless("Configuration of the hub's dataset, where it has several.")]
    split: Annotated[Text, part("Split of the hub's dataset; default: `train`.")]
    files: Annotated[
        str | list[Text],
        harmless(
            "Files of the hub's dataset that make up the split, by name or pattern; default: those "
            "that it names itself.",
            minLength=1,
            minItems=1,
        ),
    ]
    roles: Annotated[
        Mapping[str, Role] | list[Role],
        harmless(
            "What the dataset calls user, assistant and system, such as {human: user}; or whose "
            "turn each text of a list is, in turns, such as [user, assistant].",
            minItems=1,
        ),
    ]
    sha256: Annotated[
        Sha256 | Mapping[Language, Sha256], harmless("SHA-256 of the file, or of each by language.")
    ]
    columns: Annotated[
        SomeNames, part("Names of the columns of tab-separated files without a head.")
    ]
    rows: Annotated[Positive, part("Rows that the file must have.")]
    language: Annotated[
        str,
        harmless(
            "Use only items whose user writes in this language; `all` tells languages apart, and "
            "`limit` counts items of each.",
            pattern=f"^(all|{LANGUAGE})$",
            form="a code of two letters such as de, or all",
        ),
    ]
    limit: Annotated[
        Positive,
        part(
            "Items (with `turns`, conversations) of a random subsample; of a hub's split the first."
        ),
    ]
    seed: Annotated[Natural, part("Seed of the subsample; default: that of the study.")]
    turns: Annotated[
        Literal["all"] | list[Positive],
        harmless(
            "User turns of each conversation after which the model is probed, `all` or their "
            "numbers; without it only after the last.",
            minItems=1,
            uniqueItems=True,
        ),
    ]
    condition: Annotated[
        Literal["own_answer", "gold_context"],
        harmless(
            "Which assistant turn the user reacts to: the model's own, or the dataset's first."
        ),
    ]
    instruction: Annotated[str, path("Path of a text appended to the last user message.")]
    private: Annotated[
        bool, harmless("In no report or export; for annotators only by `humans.include_private`.")
    ]
    export: Annotated[
        bool,
        harmless(
            "`false` means the same as `private: true`, for rows whose licence forbids copies."
        ),
    ]
    judge: Annotated[str, harmless("The judge that the verifier rubric asks.")]
    verifier: Annotated[
        Required[str],
        program(
            "What grades the answers: none, or the name of a file of grading/.",
            enum=["none", *verifiers()],
        ),
    ]
    fields: Annotated[
        Required[Fields],
        part(
            "Columns of the file by what they mean; outer.inner is a nested column.",
            oneOf=[{"required": [name]} for name in ("prompt", "messages", "tree")],
        ),
    ]
