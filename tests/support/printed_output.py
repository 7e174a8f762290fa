"""What a command's output is as text, where no line is broken."""

from collections.abc import Sequence

from userturn.cli.terminal import Output, Part, as_text

ONE_LINE = 2000  # columns


def text_of(said: Output | Sequence[Part]) -> str:
    """Return what a command prints, in columns that are wide enough."""
    return as_text(said.parts if isinstance(said, Output) else said, ONE_LINE)
