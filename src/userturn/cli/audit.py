"""`userturn audit`: checks every artifact of a study."""

import argparse
from pathlib import Path

from userturn.audit.audit_command import run_audit
from userturn.audit.check_reruns import Samples, fresh_nonce
from userturn.audit.check_signatures import Trusted
from userturn.cli.arguments import take_own_configuration, take_results
from userturn.errors import UserError
from userturn.export.sigstore import Account

HELP = "check every file of a study"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_results(command)
    command.add_argument(
        "--regenerate", type=number, default=0, metavar="K", help="requests to run again"
    )
    command.add_argument(
        "--rejudge", type=number, default=0, metavar="K", help="turns to judge again"
    )
    command.add_argument(
        "--tokenizer",
        action="store_true",
        help="render all prompts and decode all texts again (needs no weights)",
    )
    command.add_argument(
        "--nonce", metavar="TEXT", help="nonce of an earlier audit, to draw the same samples"
    )
    command.add_argument(
        "--signers", type=Path, metavar="FILE", help="SSH keys, one of which must have signed"
    )
    command.add_argument(
        "--identity", metavar="WHO", help="account that must have signed, with Sigstore"
    )
    command.add_argument("--issuer", metavar="URL", help="service that vouches for this account")
    command.add_argument(
        "--authorities",
        type=Path,
        metavar="FILE",
        help="certificates of timestamp authorities, one of which must have dated",
    )
    take_own_configuration(command)
    command.add_argument("--to", type=Path, metavar="FOLDER", help="where to write the results")
    command.set_defaults(code_of_errors=2)


def number(text: str) -> int:
    """Parse a whole number, 0 or more.

    Raises:
        argparse.ArgumentTypeError: the text is anything else.
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"found '{text}', expected a whole number, 0 or more")
    return int(text)


def account_of(identity: str | None, issuer: str | None) -> Account | None:
    """Return the account that must have signed; None for any.

    Raises:
        UserError: only one of identity and issuer is named.
    """
    if identity is None and issuer is None:
        return None
    if identity is None or issuer is None:
        found = "--issuer" if identity is None else "--identity"
        raise UserError(
            f"found `{found}` alone, expected `--identity WHO --issuer URL`; name both, such as "
            "an e-mail address and https://accounts.google.com"
        )
    return Account(identity, issuer)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    path: Path = arguments.results
    folder = arguments.to or (path / "audit" if path.is_dir() else Path("audit"))
    nonce = arguments.nonce or fresh_nonce()
    samples = Samples(arguments.regenerate, arguments.rejudge, nonce, tuple(arguments.configfile))
    account = account_of(arguments.identity, arguments.issuer)
    trusted = Trusted(arguments.signers, account, arguments.authorities)
    return run_audit(path, folder, samples, arguments.tokenizer, trusted)
