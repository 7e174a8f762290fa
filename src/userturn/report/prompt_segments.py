"""Cut a prompt into the chat template's text and the messages' texts."""

from collections.abc import Sequence

TEMPLATE = "template"
Part = tuple[str, str]  # who wrote it (a role, or the template), and the text


def prompt_parts(prompt: str, messages: Sequence[Part], user_header: str) -> list[Part]:
    """Return a probe prompt as parts whose texts, joined, are the prompt again.

    Contents are searched from the end, each before the one found last; white space at their ends
    belongs to the template. If not all contents are found, the whole prompt is template text.

    Args:
        prompt: the model's prompt, special tokens visible.
        messages: role and content of each message in it, the shown answer last.
        user_header: the end of the prompt.
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
