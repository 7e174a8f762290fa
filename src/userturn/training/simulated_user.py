"""Continue conversations after a drawn turn: an endpoint plays the user, the model answers.

CollabLLM's multi-turn aware rewards (Wu et al. 2025, arXiv:2502.00640) judge where a turn leads,
not the turn alone. This is only for training: the probe never simulates a user.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from string import Template

from userturn.datasets.messages import Message
from userturn.judges.parse_reply import Reply
from userturn.judges.question import escaped

END = "[END]"  # the simulated user says so to end the conversation

Conversation = Sequence[Message]
Endpoints = Callable[[str, Sequence[Conversation]], list[Reply]]
"""Asks the endpoint that a recipe names for a use: one reply per conversation, in order."""
Write = Callable[[Sequence[Sequence[Message]]], list[str]]
"""Returns the model's own next answer in each conversation."""


@dataclass(frozen=True)
class Rollout:
    """A conversation in which the drawn turn comes after the first `n_before` messages."""

    messages: tuple[Message, ...]
    n_before: int
    goal: str = ""

    @property
    def answers(self) -> list[str]:
        """The assistant's messages from the drawn turn on."""
        rest = self.messages[self.n_before :]
        return [message["content"] for message in rest if message["role"] == "assistant"]

    @property
    def text(self) -> str:
        """The conversation as readers see it."""
        return "\n\n".join(f"[{m['role']}]\n{escaped(m['content'])}" for m in self.messages)


def continued(
    rollouts: Sequence[Rollout], n_turns: int, prompt: str, ask: Endpoints, write: Write
) -> list[Rollout]:
    """Return conversations with up to `n_turns` more turns of the user, each answered.

    A conversation ends when the simulated user ends it or gives no readable reply, or the model
    answers nothing.
    """
    conversations = list(rollouts)
    open_ones = list(range(len(conversations)))
    template = Template(prompt)
    for _ in range(n_turns):
        open_conversations: list[Conversation] = []
        for i in open_ones:
            filled = template.substitute(
                goal=conversations[i].goal, conversation=conversations[i].text
            )
            open_conversations.append([{"role": "user", "content": filled}])
        replies = ask("simulator", open_conversations) if open_conversations else []
        user_messages = {
            i: reply.content.strip()
            for i, reply in zip(open_ones, replies, strict=True)
            if reply.content and reply.content.strip() and END not in reply.content
        }
        open_ones = _answer(conversations, user_messages, write)
    return conversations


def _answer(rollouts: list[Rollout], user_messages: dict[int, str], write: Write) -> list[int]:
    """Add the user's messages and the model's answers, and return the conversations that go on."""
    prompts = {
        i: (*rollouts[i].messages, {"role": "user", "content": words})
        for i, words in user_messages.items()
    }
    if not prompts:
        return []
    answers = write(list(prompts.values()))
    gone_on = []
    for (i, messages), answer in zip(prompts.items(), answers, strict=True):
        if answer.strip():
            spoken = (*messages, {"role": "assistant", "content": answer})
            rollouts[i] = replace(rollouts[i], messages=spoken)
            gone_on.append(i)
    return gone_on
