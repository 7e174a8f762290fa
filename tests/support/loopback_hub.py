"""A hub on this machine: folders of `owner/name`, asked as the hub's own client asks.

A repository with a file `.gated` is one whose terms the asker has to accept first: it is given to
whoever sends the token that stands in that file.
"""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlparse

COMMIT = "a" * 40
KINDS = "(?:datasets|models)"
ASKED = re.compile(
    rf"/api/{KINDS}/([^/]+/[^/]+)(?:/(revision|tree|paths-info)/[^/]+/?(.*)|/(auth-check))?"
)
PUSHED = re.compile(r"/api/datasets/([^/]+/[^/]+)/(preupload|commit)/main")
FILE = re.compile(r"(?:/datasets)?/([^/]+/[^/]+)/resolve/[^/]+/(.*)")


@dataclass
class Hub:
    """A hub that runs: its folder and address, what was asked of files, and what was created.

    Attributes:
        writer: the token with which files may be pushed.
    """

    folder: Path
    address: str = ""
    fetched: set[str] = field(default_factory=set)
    created: list[dict[str, Any]] = field(default_factory=list)
    writer: str = "hf_writer"


class _Answer(BaseHTTPRequestHandler):
    def __init__(self, *arguments: Any, hub: Hub) -> None:
        self.hub = hub
        super().__init__(*arguments)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def _send(self, code: int, body: bytes, **head: str) -> None:
        self.send_response(code)
        length = {"Content-Length": str(len(body)), "X-Repo-Commit": COMMIT}
        named = {name.replace("_", "-"): value for name, value in head.items()}
        for name, value in (length | named).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _json(self, content: Any) -> None:
        self._send(200, json.dumps(content).encode(), Content_Type="application/json")

    def _is_refused(self, folder: Path) -> bool:
        gate = folder / ".gated"
        if not folder.is_dir():
            self._send(404, b"{}", X_Error_Code="RepoNotFound")
        elif gate.is_file() and gate.read_text() not in self.headers.get("Authorization", ""):
            self._send(403, b"{}", X_Error_Code="GatedRepo", X_Error_Message="Access is restricted")
        else:
            return False
        return True

    def _answer(self) -> None:
        given = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(urlparse(self.path).path)
        if path == "/api/validate-yaml":
            self._json({"errors": [], "warnings": []})
        elif path == "/api/repos/create" or PUSHED.fullmatch(path):
            self._push(path, given)
        elif asked := ASKED.fullmatch(path):
            self._about(self.hub.folder / asked[1], asked[2] or asked[4], asked[3] or "", given)
        elif asked := FILE.fullmatch(path):
            self._file(self.hub.folder / asked[1], asked[2])
        else:
            self._send(404, b"{}")

    do_GET = do_POST = do_HEAD = _answer  # noqa: N815

    def _push(self, path: str, given: bytes) -> None:
        """Create a repository, or take the files of a commit, each whole in the commit itself."""
        asked = PUSHED.fullmatch(path)
        if self.headers.get("Authorization") != f"Bearer {self.hub.writer}":
            self._send(401, b"{}")
        elif asked is None:
            self.hub.created.append(json.loads(given))
            name = "{organization}/{name}".format_map(self.hub.created[-1])
            (self.hub.folder / name).mkdir(parents=True, exist_ok=True)
            self._json({"url": f"{self.hub.address}/datasets/{name}"})
        elif asked[2] == "preupload":
            files = [one["path"] for one in json.loads(given)["files"]]
            of_each = {"uploadMode": "regular", "shouldIgnore": False}
            self._json({"files": [{"path": name, **of_each} for name in files]})
        else:
            for line in map(json.loads, given.splitlines()):
                self._take(self.hub.folder / asked[1], line["key"], line["value"])
            address = f"{self.hub.address}/datasets/{asked[1]}/commit/{COMMIT}"
            self._json({"success": True, "commitUrl": address, "commitOid": COMMIT})

    def _take(self, folder: Path, kind: str, value: dict[str, Any]) -> None:
        if kind == "file":
            path = folder / value["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(value["content"]))
        elif kind == "deletedFile":
            (folder / value["path"]).unlink()

    def _about(self, folder: Path, kind: str | None, inner: str, given: bytes) -> None:
        if self._is_refused(folder):
            return
        paths = sorted(path for path in folder.rglob("*") if path.name != ".gated")
        if kind in (None, "revision"):
            files = [{"rfilename": str(p.relative_to(folder))} for p in paths if p.is_file()]
            self._json({"id": "x/y", "sha": COMMIT, "tags": [], "siblings": files})
        elif kind == "tree" and not (folder / inner).is_dir():
            self._send(404, b"{}", X_Error_Code="EntryNotFound")
        elif kind == "tree":
            is_deep = "recursive=true" in self.path.lower()
            here = [p for p in paths if p.is_relative_to(folder / inner)]
            below = [
                p for p in here if p != folder / inner and (is_deep or p.parent == folder / inner)
            ]
            self._json([_entry(path, folder) for path in below])
        else:
            named = json.loads(given)["paths"]
            self._json([_entry(p, folder) for p in paths if str(p.relative_to(folder)) in named])

    def _file(self, folder: Path, name: str) -> None:
        if self._is_refused(folder):
            return
        if not (folder / name).is_file():
            self._send(404, b"", X_Error_Code="EntryNotFound")
            return
        content = (folder / name).read_bytes()
        tag = {"ETag": f'"{hashlib.sha1(content).hexdigest()}"', "Accept_Ranges": "bytes"}
        part = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if self.command == "GET":
            self.hub.fetched.add(name)
        if part is None:
            self._send(200, content, **tag)
            return
        begin, end = int(part[1]), min(int(part[2] or len(content)), len(content) - 1)
        place = {"Content_Range": f"bytes {begin}-{end}/{len(content)}"}
        self._send(206, content[begin : end + 1], **tag, **place)


def _entry(path: Path, folder: Path) -> dict[str, Any]:
    kind = "directory" if path.is_dir() else "file"
    name, size = str(path.relative_to(folder)), path.stat().st_size if path.is_file() else 0
    return {
        "type": kind,
        "oid": hashlib.sha1(name.encode()).hexdigest(),
        "size": size,
        "path": name,
    }


@contextmanager
def loopback_hub(folder: Path) -> Iterator[Hub]:
    """Serve the repositories below a folder on this machine."""
    hub = Hub(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Answer, hub=hub))
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


READ = """
import json, sys
from userturn.datasets.prepare import items_table
from userturn.errors import UserError
told = []
for entry in json.load(sys.stdin):
    notes = []
    try:
        told.append({"items": items_table(entry, {}, notes).to_dicts(), "notes": notes})
    except UserError as error:
        told.append({"error": str(error)})
print(json.dumps(told))
"""


def read_from(hub: Hub, cache: Path, *entries: dict[str, Any], **more: str) -> list[dict[str, Any]]:
    """Return the items and notes of each entry, or its error; the client is new, with no cache."""
    settings = {"HF_ENDPOINT": hub.address, "HF_HOME": str(cache), "HF_HUB_DISABLE_TELEMETRY": "1"}
    settings |= {"HF_HUB_OFFLINE": "0", "HF_DATASETS_OFFLINE": "0"}  # other tests may be offline
    done = subprocess.run(
        [sys.executable, "-c", READ],
        input=json.dumps(entries),
        env={**os.environ, **settings, **more},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found
