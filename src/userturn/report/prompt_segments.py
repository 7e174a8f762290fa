"""A prompt cut into what the chat template wrote and what the messages say."""

from collections.abc import Sequence

TEMPLATE = "template"
Part = tuple[str, str]  # who wrote it (a role, or the template), and the text


def prompt_parts(prompt: str, messages: Sequence[Part], user_header: str) -> list[Part]:
    """Return a probe prompt as parts whose texts, put together, are the prompt again.

    Contents are sought from the end, each before the one that was found last; white space at their
    ends is the template's. A prompt that does not hold all of them is one part of the template.

    Args:
        prompt: as the model was asked, special tokens visible.
        messages: role and content of each message in it, the shown answer the last.
        user_header: what the prompt ends in.
    """
    end = len(prompt.removesuffix(user_header))
    parts = []
    following = len(prompt)
    for role, content in reversed([m for m in messages if m[1].strip()]):
        wanted = content.strip()
        start = prompt.rfind(wanted, 0, end)
        if start < 0:
            return [(TEMPLATE, prompt)]
        parts += [(TEMPLATE, prompt[start + len(wanted) : following]), (role, wanted)]
        end = following = start
    parts.append((TEMPLATE, prompt[:following]))
    return [part for part in reversed(parts) if part[1]]
