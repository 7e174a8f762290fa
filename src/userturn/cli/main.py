"""Plan, watch, check and share a study; `snakemake` runs it.

`userturn x` is `cli/x.py`, with an underscore for a dash. The module has HELP, `add_arguments` and
`run`. Only the given command's module is imported, since some take a second.
"""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from userturn.errors import near_miss, sentence
from userturn.sandbox.confined import limit_memory, run_confined
from userturn.wording import show_unseen

COMMANDS = (
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
    "doctor",
    "accept",
    "rejudge",
)


SAID = re.compile(r'^HELP = "(.*)"$', re.MULTILINE)


def parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the command line: of the chosen command alone, or of all in words."""
    root = argparse.ArgumentParser(prog="userturn", description=(__doc__ or "").partition("\n")[0])
    root.add_argument("--version", action="version", version=f"userturn {version('userturn')}")
    added = root.add_subparsers(dest="command", required=True, metavar="command")
    for name in [chosen] if chosen in COMMANDS else COMMANDS:
        module = name.replace("-", "_")
        said = SAID.search(Path(__file__).with_name(f"{module}.py").read_text("utf-8"))
        command = added.add_parser(name, help=said and said[1])
        if name == chosen:
            found = import_module(f"userturn.cli.{module}")
            command.set_defaults(run=found.run, reach=lambda _: None, code_of_errors=1)
            found.add_arguments(command)
    return root


def _check_command(given: Sequence[str]) -> None:
    """End the program in a sentence if what is given is no command."""
    if given and not given[0].startswith("-") and given[0] not in COMMANDS:
        near = near_miss(given[0], COMMANDS)
        print(f"error: '{show_unseen(given[0])}' is not a command{near}", file=sys.stderr)
        raise SystemExit(2)


def main(arguments: Sequence[str] | None = None, is_confined: bool = False) -> int:
    """Run one command; errors that the user can correct are one sentence.

    Started as a program, a command that needs little of the machine runs in a process that
    reaches no more.

    Args:
        arguments: of the command; those of the program without.
        is_confined: whether this is that process.

    Returns:
        The exit code: 0; 1 for an error or an audit's findings; 2 for an audit that failed to run.
    """
    given = sys.argv[1:] if arguments is None else arguments
    _check_command(given)
    chosen = parser(given[0] if given else None).parse_args(given)
    try:
        if is_confined:
            limit_memory()
        elif arguments is None and (reach := chosen.reach(chosen)) is not None:
            return run_confined(given, reach)
        said = chosen.run(chosen)
        if isinstance(said, int):
            return said
        print(show_unseen(said), flush=True)
    except BrokenPipeError:  # the reader of the pipe has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("interrupted; the same command begins anew", file=sys.stderr)
        return 130  # as shells have it
    except Exception as error:
        message = sentence(error, [at for at in vars(chosen).values() if isinstance(at, Path)])
        if message is None:
            raise
        print(f"error: {show_unseen(message)}", file=sys.stderr)
        return int(chosen.code_of_errors)
    return 0
