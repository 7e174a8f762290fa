"""Plan, watch, check and share a study; `snakemake` runs it.

`userturn x` is `cli/x.py`, with an underscore for a dash. The module has HELP, EXAMPLES,
`add_arguments` and `run`, which returns a text, an `Output` (terminal.py) or an exit code. Only the
given command's module is imported, since some take a second.
"""

import argparse
import os
import re
import sys
from collections.abc import Collection, Sequence
from contextlib import nullcontext, redirect_stdout
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from userturn.__main__ import interrupted
from userturn.cli.busy_line import show_progress
from userturn.errors import near_miss, sentence
from userturn.sandbox.confined import limit_memory, run_confined
from userturn.wording import show_unseen

COMMANDS = (
    "run",
    "new",
    "try",
    "likelihood",
    "judge-card",
    "tell-apart",
    "calibrate",
    "rates",
    "compare",
    "audit",
    "export",
    "remake",
    "why",
    "plan",
    "power",
    "preregister",
    "status",
    "jobs",
    "doctor",
    "accept",
    "rejudge",
    "costs",
    "completion",
)

FIRST_STEPS = ("run org/name --data questions.csv", "rates results", "rates --help")
HELP_LINE = re.compile(r'^HELP = "(.*)"$', re.MULTILINE)
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


def parser(chosen: Collection[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of the command line, with arguments for the chosen commands only.

    If no command is chosen, all of them are listed.
    """
    root = Parser(prog="userturn", description=(__doc__ or "").partition("\n")[0])
    _add_examples(root, FIRST_STEPS)
    root.add_argument("--version", action="version", version=f"userturn {version('userturn')}")
    added = root.add_subparsers(dest="command", required=True, metavar="command")
    for name in chosen or COMMANDS:
        module = name.replace("-", "_")
        match = HELP_LINE.search(Path(__file__).with_name(f"{module}.py").read_text("utf-8"))
        text = match[1] if match else ""
        command = added.add_parser(name, help=text, description=f"{text[:1].upper()}{text[1:]}.")
        if name in chosen:
            _complete(command, module)
    return root


def _complete(command: argparse.ArgumentParser, module: str) -> None:
    """Add arguments, examples and other settings from a command's module."""
    module_of_command = import_module(f"userturn.cli.{module}")
    command.set_defaults(
        run=module_of_command.run,
        reach=lambda _: None,
        speaks=lambda _: False,
        code_of_errors=1,
        json=None,
    )
    _add_examples(command, module_of_command.EXAMPLES)
    module_of_command.add_arguments(command)
    if module != "completion":  # it prints what a shell reads
        command.add_argument(
            "--json", action="store_true", default=False, help="print the numbers as JSON"
        )


def _add_examples(command: argparse.ArgumentParser, lines: Sequence[str]) -> None:
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.epilog = "\n".join(["examples:", *(f"  userturn {line}" for line in lines)])


def main(arguments: Sequence[str] | None = None, is_confined: bool = False) -> int:
    """Run one command, and print errors that the user can correct as one sentence.

    In the program, a command that declares its `reach` runs in a confined process, which can open
    only those paths.

    Args:
        arguments: arguments of the command, by default those of the program.
        is_confined: whether this process is the confined one.

    Returns:
        The exit code of the command, 1 for an error (of an audit 2), or 130 after an interrupt.

    Raises:
        SystemExit: with 2 for arguments that cannot be parsed.
    """
    words = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    chosen = argparse.Namespace(code_of_errors=1)
    try:
        if words and not words[0].startswith("-") and words[0] not in COMMANDS:
            near = near_miss(words[0], COMMANDS)
            print(f"error: '{show_unseen(words[0])}' is not a command{near}", file=sys.stderr)
            raise SystemExit(2)
        parser([name for name in words[:1] if name in COMMANDS]).parse_args(words, chosen)
        if is_confined:
            limit_memory()
        is_outside = arguments is None and not is_confined
        with nullcontext() if chosen.speaks(chosen) else show_progress(chosen.command):
            if is_outside and (reach := chosen.reach(chosen)) is not None:
                code, text = run_confined(words, reach)
            else:
                code, text = _run(chosen)
        if text:
            print(text, flush=True)
        return code
    except BrokenPipeError:  # the reader of the pipe has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return interrupted()
    except Exception as error:
        message = sentence(error, [at for at in vars(chosen).values() if isinstance(at, Path)])
        if message is None:
            raise
        print(f"error: {show_unseen(message)}", file=sys.stderr)
        return int(chosen.code_of_errors)


def _run(chosen: argparse.Namespace) -> tuple[int, str]:
    """Run a command in this process, and return its exit code and the text to print.

    If a command can print JSON, everything that it prints meanwhile goes to standard error.
    """
    with nullcontext() if chosen.json is None else redirect_stdout(sys.stderr):
        result = chosen.run(chosen)
    if isinstance(result, int):
        return result, ""
    if isinstance(result, str) and not chosen.json:
        return 0, show_unseen(result)
    from userturn.cli.terminal import Output, printed  # rich: help needs none

    output = Output([result], {"said": result}) if isinstance(result, str) else result
    return output.code, printed(output, bool(chosen.json))
