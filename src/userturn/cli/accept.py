"""`userturn accept`: what was proven elsewhere, tried on this GPU, judge, hub or cluster."""

import argparse
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tabulate import tabulate

from userturn.cli.arguments import (
    select_judge,
    study_config,
    take_configuration,
    take_profile,
)
from userturn.cli.judge_card import LabelledCell
from userturn.cli.terminal import Output
from userturn.config.entries import entries_by_language, selected
from userturn.config.load import INSTALLATION
from userturn.controls.known_turns import labelled_items, labelled_turns, read_labelled
from userturn.endpoints.budget import read_accounts
from userturn.endpoints.usage import Spent, money
from userturn.errors import ConfigError, UserError
from userturn.judges.judge import Judge
from userturn.judges.kinds import kind_of
from userturn.judges.verdict import Verdict
from userturn.models.fetch import COMMIT, is_local, source_folder
from userturn.slurm.doctor import examine
from userturn.slurm.submission import read_profile
from userturn.sources.registry import check_study
from userturn.storage.hashing import check_sha256
from userturn.storage.table_files import write_table
from userturn.study.contents import LABELLED_TURNS
from userturn.study.grid import Grid
from userturn.study.judge import judge_of
from userturn.wording import number_of

N_TURNS = 20  # labelled turns about which a judge is asked
MOST = 1.0  # in the currency of the judge's prices
PATIENCE = 300  # seconds for a short job


class Tried(NamedTuple):
    """One claim, whether it held here, and what was seen."""

    claim: str
    held: bool
    seen: str


HELP = "try this machine's GPUs, a judge, the hub or a cluster, and print what holds there"
EXAMPLES = ("accept --hub", "accept --api gpt-5.4-mini")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_configuration(command)
    command.add_argument(
        "--gpu", action="store_true", help="try both engines on this machine's GPUs"
    )
    command.add_argument("--api", metavar="JUDGE", help="ask a judge behind an API 20 questions")
    command.add_argument(
        "--hub", action="store_true", help="load a pinned file and a model from the hub"
    )
    command.add_argument("--slurm", action="store_true", help="run one short job on this cluster")
    take_profile(command)


def run(arguments: argparse.Namespace) -> Output:
    """Run the command, with exit code 1 if a claim did not hold.

    Raises:
        UserError: no option says what to try.
    """
    a = arguments
    config = study_config(a.configfile)
    trials: dict[str, Callable[[], Iterator[Tried]]] = {}
    if a.gpu:
        trials["GPU"] = try_gpu
    if a.api:
        trials["API"] = lambda: try_judge(config, a.api)
    if a.hub:
        trials["hub"] = lambda: try_hub(config)
    if a.slurm:
        trials["SLURM"] = lambda: try_cluster(config, a.profile, a.results)
    if not trials:
        raise UserError("nothing to try; give one or more of --gpu, --api JUDGE, --hub and --slurm")
    tried = [(name, one) for name, trial in trials.items() for one in trial()]
    packages = ", ".join(f"{name} {version(name)}" for name in ("userturn", "snakemake"))
    where = f"{packages}, Python {platform.python_version()}, {platform.system()}"
    rows = [(on, one.claim, "yes" if one.held else "NO", one.seen) for on, one in tried]
    heads = ("on", "claim", "held", "seen")
    table = tabulate(rows, heads, "github", disable_numparse=True)  # Markdown, to send back
    n_bad = sum(not one.held for _, one in tried)
    told = [f"{n_bad} of {number_of(len(tried), 'claim')} did not hold here"] if n_bad else []
    claims = [{"on": on, **one._asdict()} for on, one in tried]
    return Output([*told, where, "", table], {"where": where, "claims": claims}, int(n_bad > 0))


def try_gpu() -> Iterator[Tried]:
    """Yield whether vLLM on this machine's GPUs writes the expected texts (`make check-gpu`)."""
    command = [sys.executable, str(INSTALLATION / "benchmarks/vllm_on_gpu.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    output = " / ".join(line for line in (done.stdout + done.stderr).splitlines() if line.strip())
    claim = "vLLM writes the same texts in every way that a study loads it"
    yield Tried(claim, done.returncode == 0, output.replace("|", ";")[-1500:])


def try_judge(config: dict[str, Any], name: str) -> Iterator[Tried]:
    """Yield the claims about a judge behind an API, each tried here.

    It is asked about the first labelled turns in a scratch folder, at a cost of at most `MOST`.

    Raises:
        ConfigError: the configuration has no such judge, or it needs no API.
    """
    config = select_judge(config, name) | {"max_cost": min(MOST, config.get("max_cost") or MOST)}
    check_study(config)
    with TemporaryDirectory(prefix="userturn-") as folder:
        judge = judge_of(Grid(config, Path(folder, "results")), name)
        if not kind_of(judge.settings).HAS_ENDPOINT or judge.settings.get("serve"):
            raise ConfigError(
                f"judge '{name}' has no API; expected one of `kind: endpoint` without `serve`: "
                "name another (docs/judges.md)"
            )
        rows = read_labelled(LABELLED_TURNS)[:N_TURNS]
        paths = [str(Path(folder, name)) for name in ("user_turns.parquet", "items.parquet")]
        write_table(labelled_turns(rows), paths[0], "")
        write_table(labelled_items(rows), paths[1], "")
        cell = LabelledCell(paths[0], paths[1])
        claim = f"key and model are accepted, at most {MOST:g} is spent"
        try:
            verdicts = _verdicts(judge, cell)
        except UserError as error:
            yield Tried(claim, False, str(error))
            return
        spent, price = _spent(judge), judge.prices.get(judge.name)
        cost = "no price given" if price is None else f"{money(spent, price):.4f}"
        yield Tried(claim, True, f"{number_of(spent.n_requests, 'request')}, cost {cost}")
        why = sorted({v.unscored_reason or "" for v in verdicts if v.label is None})
        n_read = sum(verdict.label is not None for verdict in verdicts)
        seen = f"{n_read} of {len(verdicts)}" + (f": {'; '.join(why)[:500]}" if why else "")
        yield Tried("every reply is read", n_read == len(verdicts), seen)
        seen = f"{spent.n_unmetered} requests without"
        yield Tried("tokens are reported", not spent.n_unmetered, seen)
        again = _verdicts(judge, cell)
        n_more = _spent(judge).n_requests - spent.n_requests
        is_same = [v.label for v in again] == [v.label for v in verdicts]
        seen = f"{n_more} requests more, {'the same' if is_same else 'other'} verdicts"
        yield Tried("nothing is asked twice", not n_more and is_same, seen)


def _verdicts(judge: Judge, cell: LabelledCell) -> list[Verdict]:
    n_at_once = int(judge.settings.get("concurrency", 0))
    parts = kind_of(judge.settings).verdicts(judge, cell, n_at_once)
    return [verdict for _, verdicts in parts for verdict in verdicts]


def _spent(judge: Judge) -> Spent:
    return sum((account.total for account in read_accounts(judge.accounts)), Spent())


def try_hub(config: Mapping[str, Any]) -> Iterator[Tried]:
    """Yield whether a pinned dataset file has its hash, and a model's revision is on the hub."""
    files = [
        (name, one)
        for name, entry in selected(config, "datasets").items()
        for one in entries_by_language(entry).values()
        if "hub" in one and "sha256" in one
    ]
    claim = "a pinned dataset file has the bytes that the configuration names"
    if not files:
        yield Tried(claim, False, "no selected dataset is a file of the hub with its sha256")
    for name, one in files[:1]:
        yield Tried(claim, *_fetched(name, one))
    sources = [
        (name, entry if isinstance(entry, str) else entry.get("source", ""))
        for name, entry in selected(config, "models").items()
    ]
    claim = "a model's revision is resolved and its template is read"
    of_hub = [(name, source) for name, source in sources if source and not is_local(source)]
    if not of_hub:
        yield Tried(claim, False, "no selected model is of the hub")
    for name, source in of_hub[:1]:
        try:
            folder = source_folder(source, "main", with_weights=False)
        except UserError as error:
            yield Tried(claim, False, f"{name}: {error}")
        else:
            is_commit = COMMIT.fullmatch(folder.name) is not None
            yield Tried(claim, is_commit, f"{name}: {source} at {folder.name}")


def _fetched(name: str, one: Mapping[str, Any]) -> tuple[bool, str]:
    """Download a dataset's file anew, and return whether it has its sha256, and what was seen."""
    from huggingface_hub import hf_hub_download

    with TemporaryDirectory(prefix="userturn-") as folder:
        try:
            path = hf_hub_download(
                one["hub"],
                one["file"],
                repo_type="dataset",
                revision=one["revision"],
                cache_dir=folder,
            )
            check_sha256(path, one["sha256"])
        except Exception as error:  # any failure of the network is a result
            return False, f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:500]}"
        return True, f"{name}: {one['file']}, {Path(path).stat().st_size:,} bytes"


def try_cluster(config: dict[str, Any], profile: Path, results: str) -> Iterator[Tried]:
    """Yield each check of `userturn doctor`, including a short job on a compute node."""
    check_study(config)
    for check in examine(Grid(config, results), read_profile(profile), PATIENCE, False):
        yield Tried(check.what, check.trouble is None, check.trouble or "as expected")
