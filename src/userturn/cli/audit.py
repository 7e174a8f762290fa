"""`userturn audit`: checks every artifact of a study."""

import argparse
import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from secrets import token_hex

from userturn.audit.check_reruns import Samples
from userturn.audit.run import run_audit
from userturn.cli.arguments import opened_of, take_own_configuration, take_results
from userturn.cli.terminal import Output
from userturn.sandbox.confined import Reach

HELP = "check every file of a study"
EXAMPLES = ("audit results", "audit results.zip --tokenizer")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_results(command, "results folder of a study, or an archive of one")
    command.add_argument(
        "--regenerate",
        type=number,
        default=0,
        metavar="K",
        help="number of requests to ask again; default: 0",
    )
    command.add_argument(
        "--rejudge",
        type=number,
        default=0,
        metavar="K",
        help="number of turns to judge again; default: 0",
    )
    command.add_argument(
        "--tokenizer",
        action="store_true",
        help="render all prompts and decode all texts again (needs no weights)",
    )
    command.add_argument(
        "--nonce", metavar="TEXT", help="nonce of an earlier audit, to draw the same samples"
    )
    take_own_configuration(command)
    command.add_argument(
        "--to",
        type=Path,
        metavar="FOLDER",
        help="folder for audit.json and audit.html; default: audit in the results folder",
    )
    command.set_defaults(reach=reach, code_of_errors=2)


def number(text: str) -> int:
    """Parse a whole number, 0 or more.

    Raises:
        argparse.ArgumentTypeError: the text is anything else.
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"found '{text}', expected a whole number, 0 or more")
    return int(text)


def reach(arguments: argparse.Namespace) -> Reach | None:
    """Return what a plain audit may read and write, or None with a model, judge or tokenizer."""
    if arguments.regenerate or arguments.rejudge or arguments.tokenizer:
        return None
    return Reach(opened_of(arguments.results), _folder(arguments))


def _folder(arguments: argparse.Namespace) -> Path:
    path: Path = arguments.results
    return arguments.to or (path / "audit" if path.is_dir() else Path("audit"))


def run(arguments: argparse.Namespace) -> Output:
    """Run the command, and return the written audit.json as its numbers."""
    nonce = arguments.nonce or token_hex(8)
    own = tuple(arguments.configfile)
    samples = Samples(arguments.regenerate, arguments.rejudge, nonce, own, arguments.trust)
    folder = _folder(arguments)
    with redirect_stdout(StringIO()) as printed:
        code = run_audit(arguments.results, folder, samples, arguments.tokenizer)
    written = json.loads((folder / "audit.json").read_text("utf-8"))
    return Output([printed.getvalue().rstrip("\n")], written, code)
