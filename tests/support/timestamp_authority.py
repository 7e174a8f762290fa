"""A timestamp authority: OpenSSL's own, behind a server on the loopback device."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from tests.support.slow import starting

SETTINGS = """
[ tsa ]
default_tsa = own
[ own ]
serial = serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
"""


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def new_authority(folder: Path) -> Path:
    """Write a key, a certificate of its own and settings; return the certificate's path."""
    folder.mkdir()
    purpose = ("-addext", "extendedKeyUsage=critical,timeStamping")
    made = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=An authority")
    openssl(folder, *made, *purpose, "-keyout", "key.pem", "-out", "certificate.pem")
    (folder / "settings").write_text(SETTINGS)
    (folder / "serial").write_text("01\n")
    return folder / "certificate.pem"


class Answers(BaseHTTPRequestHandler):
    """Answers a question with a timestamp by the authority in a folder, or with its last one."""

    def __init__(self, folder: Path, *others: object) -> None:
        self.folder = folder
        super().__init__(*others)  # type: ignore[arg-type]

    def do_POST(self) -> None:
        question = self.rfile.read(int(self.headers["Content-Length"]))
        (self.folder / "question").write_bytes(question)
        with_key = ("-signer", "certificate.pem", "-inkey", "key.pem", "-config", "settings")
        asked = ("ts", "-reply", "-queryfile", "question", *with_key, "-out", "reply")
        if not (self.folder / "repeats itself").exists():
            openssl(self.folder, *asked)
        self.send_response(200)
        self.end_headers()
        self.wfile.write((self.folder / "reply").read_bytes())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run an authority, whose certificate is in a new folder, and yield its address."""
    starting("a server")
    new_authority(folder)
    server = HTTPServer(("127.0.0.1", 0), partial(Answers, folder))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
