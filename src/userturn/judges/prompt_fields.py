"""The two parts of a judge's prompt, and the fields that are filled in there."""

from string import Template
from typing import NamedTuple

from userturn.errors import ConfigError

SYSTEM_ENDS = "\n-----\n"


class Part(NamedTuple):
    """One part: the fields that a judge cannot do without, and the others that it may have."""

    name: str
    needed: frozenset[str]
    others: frozenset[str]


PARTS = (
    Part("above its line -----", frozenset({"rubric"}), frozenset({"labels", "rules"})),
    Part("below its line -----", frozenset({"conversation", "turn"}), frozenset({"marker"})),
)


def check_prompt(where: str, text: str) -> None:
    """Check that a judge would read rubric, conversation and turn, and nothing unfilled.

    Raises:
        ConfigError: a part or a field is missing, or there is no field of a name in the prompt.
    """
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
                f"{where}: {part.name} it has a $ that begins no name; write $$ for the character"
            )
        found = set(template.get_identifiers())
        known = ", ".join(f"${name}" for name in sorted(part.needed | part.others))
        for what, names in (
            ("has", found - part.needed - part.others),
            ("lacks", part.needed - found),
        ):
            if names:
                raise ConfigError(
                    f"{where}: {part.name} it {what} ${min(names)}; expected there {known}, as in "
                    "data/judge_prompt.txt"
                )
