"""A guard: while it is up, this process opens no connection to another machine, nor asks for one.

Python tells of each before it is made (`sys.addaudithook`). Programs that are started, and code
that is not Python's, are not seen: pictures are drawn with an empty list of addresses
(html/page.py), and graded programs run in a sandbox without a network.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from userturn.errors import UserError

TO_ADDRESS = ("socket.connect", "socket.sendto", "socket.sendmsg")  # their second argument
BY_NAME = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")

_guards: list[object] = []  # those that are up
_is_installed: list[bool] = []


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if not _guards or event not in (*TO_ADDRESS, *BY_NAME):
        return
    address = arguments[0] if event in BY_NAME else arguments[1]
    if event in TO_ADDRESS and not isinstance(address, tuple):
        return  # a socket in a folder, by which processes of one machine speak
    raise UserError(
        f"something asked for '{address}', which was refused: nothing is sent without a model or "
        "judge that you ask for; run it with the project's newest version, and report this"
    )


def forbid_network() -> None:
    """Put the guard up for the rest of this process."""
    if not _is_installed:
        sys.addaudithook(_refuse)
        _is_installed.append(True)
    _guards.append(_refuse)


@contextmanager
def without_network() -> Iterator[None]:
    """Put the guard up for a block."""
    forbid_network()
    try:
        yield
    finally:
        _guards.pop()
