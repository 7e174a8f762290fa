"""Role-play: the model is told to play the user, and writes the user turn as its own answer.

The instruction is the first user message. The conversation follows with its roles swapped, so that
the model's own side is the user's, or is quoted in that message. The raw probe has none of this:
the two are compared on equal conversations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from userturn.config.formats import PLAYED, QUOTED, SWAPPED
from userturn.datasets.messages import Message
from userturn.prompts.chat_template import Template
from userturn.prompts.examples import EXAMPLE, user
from userturn.prompts.render import BETWEEN

OTHER_SIDE = {"user": "assistant", "assistant": "user"}
TOLD = "The assistant has these instructions:"
SO_FAR = "The conversation so far:"
NAMES = {"system": "Instructions to the assistant", "user": "Person", "assistant": "Assistant"}


def conversation(
    instruction: str, roles: str, messages: Sequence[Message], answer: str | None
) -> list[Message]:
    """Return the conversation after which a model that plays the user writes the user turn.

    Args:
        instruction: what it is told.
        roles: `swapped` or `quoted`.
        messages: of the item; none to have the user begin.
        answer: what the assistant said last; None for nothing, which is an empty message.
    """
    said = [{"role": m["role"], "content": m["content"]} for m in messages]
    if said:
        said.append({"role": "assistant", "content": answer or ""})
    if roles == QUOTED:
        return [user(BETWEEN.join([instruction, *_quoted(said)]))]
    is_told = said[:1] and said[0]["role"] == "system"
    told = [TOLD, said.pop(0)["content"]] if is_told else []
    swapped = [{**m, "role": OTHER_SIDE.get(m["role"], m["role"])} for m in said]
    return [user(BETWEEN.join([instruction, *told])), *swapped]


def _quoted(said: Sequence[Message]) -> list[str]:
    return [SO_FAR, *(f"{NAMES[m['role']]}: {m['content']}" for m in said)] if said else []


@dataclass(frozen=True)
class RolePlayTemplate(Template):
    """A chat template whose user turns are played: each prompt for one is a prompt for an answer.

    Attributes:
        instruction: what the model is told.
        roles: `swapped` or `quoted`.
    """

    instruction: str = field(default="", kw_only=True)
    roles: str = field(default=SWAPPED, kw_only=True)

    def probe_parts(
        self, messages: Sequence[Message], answer: str | None, reasoning: str | None = None
    ) -> tuple[list[str], list[str]]:
        """Return the prompt for a played turn: the template's texts, and the contents between.

        A person does not see reasoning, so that it is not shown.
        """
        played = conversation(self.instruction, self.roles, messages, answer)
        return self.split(played, add_generation_prompt=True)

    @cached_property
    def user_header_text(self) -> str:
        """The text that begins a played turn: that of an answer."""
        return self.probe_parts(EXAMPLE[:1], EXAMPLE[1]["content"])[0][-1]

    @property
    def left_to_the_model(self) -> str:
        """Nothing: the beginning of an answer is shown whole."""
        return ""

    @property
    def header_form(self) -> str:
        """What a description says in place of the header's form."""
        return PLAYED

    @property
    def header_is_by_hand(self) -> bool:
        """No: the template writes what begins an answer."""
        return False

    @property
    def missing_answer(self) -> str:
        """The assistant's turn without an answer: an empty message of the other side."""
        return ""

    @property
    def stop_texts(self) -> tuple[str, ...]:
        """Texts that end a played turn: those that end an answer."""
        return self.end_texts

    @property
    def stop_token_ids(self) -> tuple[int, ...]:
        """Tokens that end a played turn: those that end an answer."""
        return self.end_token_ids
