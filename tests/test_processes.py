"""The guard lets no connection out, and is down after its block."""

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from userturn.errors import UserError
from userturn.processes import block_network


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A socket of this machine that takes connections."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def test_nothing_connects_while_the_guard_is_up_and_afterwards_everything(
    server: socket.socket,
) -> None:
    with block_network(), pytest.raises(UserError, match="which was refused"):
        socket.create_connection(server.getsockname())
    server.setblocking(False)
    with pytest.raises(BlockingIOError):
        server.accept()  # nobody came
    with socket.create_connection(server.getsockname()):
        assert server.accept()


def test_no_name_is_looked_up_and_no_page_fetched(server: socket.socket) -> None:
    with block_network():
        with pytest.raises(UserError, match="refused"):
            socket.getaddrinfo("example.org", 443)
        with pytest.raises(UserError, match="refused"):
            urlopen(f"http://127.0.0.1:{server.getsockname()[1]}/")


def test_no_datagram_is_sent() -> None:
    plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with plain, block_network(), pytest.raises(UserError, match="refused"):
        plain.sendto(b"row", ("127.0.0.1", 9))


def test_processes_of_this_machine_may_speak_through_a_file(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as calling:
        listening.bind(str(tmp_path / "socket"))
        listening.listen()
        with block_network():
            calling.connect(str(tmp_path / "socket"))
        assert listening.accept()
