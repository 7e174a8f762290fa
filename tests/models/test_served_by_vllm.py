"""vLLM's real server, started as docs/engines.md says: a study has there what it has in process."""

import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import psutil
import pytest

from tests.support.snakemake_runs import ROOT
from userturn.judges.pending_cells import running

pytestmark = pytest.mark.slow

PORT = "8000"  # in docs/engines.md
# What names the model or its requests: the rest is what the model wrote or scored.
NAMES = pl.selectors.by_name("model", "key", require_all=False)


def command() -> str:
    """Return the command in docs/engines.md that starts a server."""
    text = (ROOT / "docs/engines.md").read_text()
    (found,) = [b for b in re.findall(r"(?:^    .+\n)+", text, re.MULTILINE) if "api_server" in b]
    return textwrap.dedent(found)


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a server that has ended, with all that it started, when the test has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = str(found.getsockname()[1])
    # The shell becomes the server, which is then ended by its own process id.
    line = command().replace(PORT, port).replace("python -m vllm", "exec python -m vllm")
    url = f"http://127.0.0.1:{port}/v1"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        with running(["bash", "-c", line], url) as process:
            yield url
            started = psutil.Process(process.pid).children(recursive=True)
    assert process.returncode in (0, -signal.SIGTERM)
    assert started and psutil.wait_procs(started, timeout=60)[1] == []


def test_a_study_at_a_server_has_the_tokens_and_scores_of_one_in_process(
    demo_model: Path, url: str, tmp_path: Path
) -> None:
    sweep = [sys.executable, "-m", "tests.support.sweep_demo", tmp_path, url]
    done = subprocess.run(sweep, cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    here, there = demo_model / "results/tables", tmp_path / "tables"
    names, others = (
        sorted(p.relative_to(at) for p in at.rglob("*.parquet")) for at in (here, there)
    )
    assert names == others
    n_written, n_scored = Counter[str](), 0
    for name in names:
        one, other = (pl.read_parquet(at / name).drop(NAMES) for at in (here, there))
        assert one.equals(other), name
        assert one["error"].null_count() == one.height
        if "logprob" in one.columns:
            n_scored += one["logprob"].count()
        else:
            n_written[f"{name.stem} {name.parent.parent.name}"] += one.height
    # Two items of two datasets, greedy and sampled; each written turn is scored twice, each of two
    # human follow-ups four times.
    assert n_written == {"answers ": 4, "user_turns t0": 4, "user_turns t1": 4}
    assert n_scored == 4 * 2 * 2
