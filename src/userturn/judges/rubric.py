"""The rubric: labels, rules to decide between them, and the paper's names for such turns.

Judges and people read the same words, which are only in the rubric's file. The labels come first in
the file, and only they are hashed as the rubric. Rules and border cases are hashed with the prompt
that quotes them. The paper's names change no verdict.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import yaml

from userturn.config.load import RUBRIC
from userturn.errors import ConfigError, near_path
from userturn.judges.verdict import GENUINE
from userturn.storage.files import read_text
from userturn.wording import label_name

SYSTEM_ENDS = "\n-----\n"


class Part(NamedTuple):
    """A part of a judge's prompt, with the fields that it must have and those that it may have."""

    name: str
    needed: frozenset[str]
    others: frozenset[str]


PARTS = (
    Part("above its line -----", frozenset({"rubric"}), frozenset({"labels", "rules"})),
    Part("below its line -----", frozenset({"conversation", "turn"}), frozenset({"marker"})),
)


def check_prompt(where: str, text: str) -> None:
    """Check that a prompt has all its fields and no unknown one, or raise ConfigError."""
    texts = text.split(SYSTEM_ENDS, 1)
    if len(texts) == 1:
        raise ConfigError(
            f"{where}: found no line -----, expected one between what the judge is told once and "
            "what it is asked about each turn, as in data/judge_prompt.txt"
        )
    for part, content in zip(PARTS, texts, strict=True):
        template = Template(content)
        if not template.is_valid():
            raise ConfigError(
                f"{where}: {part.name} it has a $ without a name after it; write $$ for the "
                "character"
            )
        fields = set(template.get_identifiers())
        expected = ", ".join(f"${name}" for name in sorted(part.needed | part.others))
        for what, names in (
            ("has", fields - part.needed - part.others),
            ("lacks", part.needed - fields),
        ):
            if names:
                raise ConfigError(
                    f"{where}: {part.name} it {what} ${min(names)}; expected there {expected}, as "
                    "in data/judge_prompt.txt"
                )


LABELS_END = "\nrules:"  # in a rubric's file
RULES = "$rules"  # in a prompt

Labels = Mapping[str, Mapping[str, str]]


class Rubric(NamedTuple):
    """The content of a rubric's file."""

    labels: Labels  # criterion and example by label, in their order
    rules: str  # how to decide between labels, with the border cases; empty if the file has none
    paper: Mapping[str, str]  # the paper's names of labels; those without one are ours

    @property
    def ours(self) -> list[str]:
        """The labels without a name in the paper, empty if the rubric has no names of the paper."""
        return [name for name in self.labels if name not in self.paper] if self.paper else []


def parse_rubric(text: str) -> Rubric:
    """Return a rubric from the text of its file, or raise ConfigError."""
    try:
        content = yaml.safe_load(text)
        for label in content["labels"].values():
            described(label)
        rules = "\n".join([content.get("rules", "").strip(), *_decided(content)]).strip()
    except (yaml.YAMLError, TypeError, LookupError, AttributeError) as error:
        raise ConfigError(
            f"a rubric cannot be read ({type(error).__name__}: {' '.join(str(error).split())}); "
            "expected `labels:` with a `criterion` and an `example` each, and under `borders:` a "
            f"`case` and one of these labels each, as in {RUBRIC}"
        ) from error
    return Rubric(content["labels"], rules, content.get("paper", {}))


def _decided(content: Mapping[str, Any]) -> list[str]:
    """Return a heading and the lines of the border cases, or no line if a rubric has none."""
    lines = []
    for border in content.get("borders", ()):
        label = {name: name for name in content["labels"]}[border["label"]]
        but = f"; {border['but']}" if "but" in border else ""
        lines.append(f"- {border['case']}: {label}{but}.")
    return ["Border cases are decided thus:", *lines] if lines else []


def read_rubric(path: str | Path) -> Rubric:
    """Return the rubric in a file, or raise ConfigError with the file's name."""
    try:
        return parse_rubric(read_text(path))
    except ConfigError as error:
        raise ConfigError(f"'{path}': {error}") from error


def described(label: Mapping[str, str]) -> str:
    """Return the description of a label that judges and people read."""
    return f"{label['criterion']} Example: {label['example']}"


def note_on_ours(rubric: Rubric) -> str:
    """Return the sentence that names the labels of our own, or an empty text without any."""
    if not rubric.ours:
        return ""
    return f"The labels {', '.join(map(label_name, rubric.ours))} are ours, not the paper's."


def rubric_sha256(text: str) -> str:
    """Return the sha256 of the text of the labels in a rubric's file."""
    labels, end, _ = text.partition(LABELS_END)
    return _sha256(f"{labels}\n" if end else labels)


def fill_in_rules(prompt: str, rubric: Rubric) -> str:
    """Return the text of a judge's prompt with the rubric's rules filled in."""
    return prompt.replace(RULES, rubric.rules.replace("$", "$$"))


def texts_identity(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return the hashes of the labels, and of the prompt with rules, of a judge's entry."""
    rubric_text, prompt_text = (
        Path(entry[key]).read_bytes().decode() for key in ("rubric", "prompt")
    )
    prompt = fill_in_rules(prompt_text, parse_rubric(rubric_text))
    return {"rubric": rubric_sha256(rubric_text), "prompt": _sha256(prompt)}


def check_texts(where: str, entry: Mapping[str, Any]) -> None:
    """Check the rubric and the prompt that a judge's entry names, or raise ConfigError."""
    for path in (entry["rubric"], entry["prompt"]):
        if not Path(path).is_file():
            raise ConfigError(
                f"{where}: the file '{path}' does not exist or is not a file; correct the path"
                f"{near_path(path)}"
            )
    rubric, prompt = read_rubric(entry["rubric"]), read_text(entry["prompt"])
    if GENUINE not in rubric.labels or len(rubric.labels) == 1:
        raise ConfigError(
            f"{where}.rubric: '{entry['rubric']}' has the labels "
            f"{', '.join(map(str, rubric.labels)) or '(none)'}; expected {GENUINE}, whose share is "
            "the rate, and at least one other"
        )
    check_prompt(f"{where}.prompt: '{entry['prompt']}'", prompt)
    if RULES in prompt and not rubric.rules:
        raise ConfigError(
            f"{where}.rubric: '{entry['rubric']}' has no `rules`, which the prompt "
            f"'{entry['prompt']}' quotes as {RULES}; expected a text: add it after the labels"
        )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
