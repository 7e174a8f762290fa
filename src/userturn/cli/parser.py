"""Wrong arguments of a command in one sentence, with the most similar option or value."""

import argparse
import re
import sys
from typing import Any, NoReturn

from userturn.errors import near_miss
from userturn.wording import show_unseen

KINDS = {"int": "a whole number", "float": "a number such as 0.05"}
CHOICE = r"argument ([^:]+): invalid choice: (.*) \(choose from (.*)\)"
VALUE = r"argument ([^:]+): invalid (\w+) value: (.*)"
MISSING = r"the following arguments are required: (.*)"


class Parser(argparse.ArgumentParser):
    """A parser that ends the program with one sentence, without the usage of all options."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse arguments, with unknown ones refused by the command to which they were given."""
        parsed, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(self._unknown(rest))
        return parsed, rest

    def error(self, message: str) -> NoReturn:
        """End the program with the exit code 2."""
        sentence = show_unseen(self._sentence(message))
        further = " See" if sentence.endswith("?") else "; see"
        print(f"error: {sentence}{further} `{self.prog} --help`", file=sys.stderr)
        raise SystemExit(2)

    def _unknown(self, rest: list[str]) -> str:
        option = next((one.partition("=")[0] for one in rest if one.startswith("-")), None)
        if option is None:
            return f"found '{rest[0]}', which is one too many for `{self._usage()}`"
        options = [name for name in self._option_string_actions if name.startswith("--")]
        return f"'{option}' is not an option of `{self.prog}`{near_miss(option, options)}"

    def _usage(self) -> str:
        return " ".join(self.format_usage().split()).removeprefix("usage: ")

    def _sentence(self, message: str) -> str:
        """Return argparse's message about a fault in this project's words."""
        if match := re.fullmatch(CHOICE, message, re.DOTALL):
            near = near_miss(match[2].strip("'"), re.findall(r"[\w-]+", match[3]))
            return f"{match[1]}: found {match[2]}{near}"
        if match := re.fullmatch(VALUE, message, re.DOTALL):
            return f"{match[1]}: found {match[3]}, expected {KINDS.get(match[2], match[2])}"
        if match := re.fullmatch(MISSING, message):
            return f"found no {match[1]}, expected `{self._usage()}`"
        return message.removeprefix("argument ")
