"""`userturn completion`: what a shell needs to complete commands, options and files."""

import argparse
from pathlib import Path

HELP = "print what a shell needs to complete commands and options"
EXAMPLES = ("completion bash", "completion zsh")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="shell that completes")


def run(arguments: argparse.Namespace) -> str:
    """Run the command."""
    import shtab

    from userturn.cli.main import COMMANDS, parser

    root = parser(COMMANDS)
    commands = next(action.choices for action in root._actions if action.dest == "command")
    assert isinstance(commands, dict)  # of a parser for each
    for command in commands.values():
        for action in command._actions:
            if action.type is Path or action.metavar == "FILE":
                action.complete = shtab.FILE
    return shtab.complete(root, arguments.shell)
