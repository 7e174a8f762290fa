"""The table in docs/audit.md: who wants to cheat, with what it is looked for, and what is found."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from tests.support.forgery import first_row, flip, forge, forge_journal, rewrite
from tests.support.snakemake_runs import ROOT, run
from userturn.audit.check_reruns import Samples, rerun
from userturn.audit.findings import Finding
from userturn.audit.result import Audit
from userturn.audit.run import audit
from userturn.errors import UserError
from userturn.export.read_archive import opened
from userturn.export.write_archive import export
from userturn.storage.journal import decode_line, encode_line

pytestmark = pytest.mark.slow

TURNS = "cells/tiny/word-problems/t1/none/user_turns.parquet"
PERTURBED = "cells/tiny/word-problems/t1/truncate"
ALL = 1000


def accident(results: Path) -> None:
    flip(results / TURNS)


def careless_edit(results: Path) -> None:
    text = pl.read_parquet(results / TURNS)["text"][0]
    rewrite(results / TURNS, first_row(text=f"{text} ok"))  # any judge says of it what it said


def edit_with_hashes(results: Path) -> None:
    careless_edit(results)
    forge(results, TURNS, everywhere=True)


def whole_chain(results: Path) -> None:
    """Edit the journal, and let the workflow make everything after it and the sweep's notes again.

    The cell is perturbed, so no sample for people holds its texts.
    """
    keys = set(pl.read_parquet(results / PERTURBED / "user_turns.parquet")["key"])
    for path in results.glob("journal/tiny/word-problems/*.jsonl"):
        lines = [decode_line(line) or {} for line in path.read_bytes().splitlines(keepends=True)]
        edited = [{**line, "text": "Why?"} if line["key"] in keys else line for line in lines]
        path.write_bytes(b"".join(map(encode_line, edited)))
        forge_journal(results, path)
    (results / PERTURBED / "user_turns.parquet").unlink()
    (results / "sweeps/tiny/finished/1of1.json").unlink()
    run(results.parent, "--force", "results/sweeps/tiny/1of1.json")
    run(results.parent)
    for name in ("user_turns.parquet", "verdicts/heuristic.parquet"):
        forge(results, f"{PERTURBED}/{name}", everywhere=True)


@cache  # several cells of the table ask it of the same study
def audited(study: Path) -> Audit:
    return audit(study / "results")


@cache
def exported(study: Path) -> Path | None:
    """The archive of a study; None where its files cannot be read, so that nobody gets one."""
    archive = study.parent / f"{study.name}.zip"
    try:
        export(study / "results", archive)
    except UserError:
        return None
    return archive


def by_folder(study: Path, honest: Path) -> bool:
    return bool(audited(study).findings)


def by_archive(study: Path, honest: Path) -> bool:
    archive = exported(study)
    if archive is None:
        return True
    with opened(archive) as unpacked:
        return bool(audit(unpacked).findings)


def by_digest(study: Path, honest: Path) -> bool:
    return audited(study).digest != audited(honest).digest


@cache
def regenerated(study: Path) -> bool:
    found = rerun(study / "results", Samples(n_regenerated=ALL))
    return any(isinstance(item, Finding) for item in found)


def by_regeneration(study: Path, honest: Path) -> bool:
    return regenerated(study)


def nothing(results: Path) -> None:
    """Leave a study as its honest authors made it."""


FORGERIES: dict[str, Callable[[Path], None]] = {
    "nobody": nothing,
    "accident": accident,
    "careless edit": careless_edit,
    "edit with all hashes": edit_with_hashes,
    "whole chain": whole_chain,
}


@pytest.fixture(scope="module")
def forged(finished_study: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The project of a study under each forgery."""
    made = {}
    for name, forge_it in FORGERIES.items():
        made[name] = tmp_path_factory.mktemp("forged") / "study"
        shutil.copytree(finished_study, made[name], copy_function=shutil.copy)
        forge_it(made[name] / "results")
    # Who invents a study publishes the digest of the invention.
    return made | {"invented study": made["whole chain"]}


def promises() -> list[tuple[str, str, str]]:
    """Return who cheats, with what it is looked for, and what the table says of it."""
    text = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    lines = text[text.index("| who |") :].split("\n\n")[0].splitlines()
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [
        (row[0], what, said) for row in rows for what, said in zip(head[1:], row[1:], strict=True)
    ]


LOOKS: dict[str, Callable[[Path, Path], bool]] = {
    "folder": by_folder,
    "archive": by_archive,
    "published digest": by_digest,
    "regeneration": by_regeneration,
}


@pytest.mark.parametrize(
    ("who", "what", "said"),
    [
        pytest.param(*promise, marks=[pytest.mark.long] if promise[1] == "regeneration" else [])
        for promise in promises()
    ],
)
def test_what_the_table_says_is_found_is_found_and_nothing_else(
    who: str, what: str, said: str, forged: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = forged[who]
    monkeypatch.chdir(study)
    honest = study if who == "invented study" else forged["nobody"]
    assert ("found" if LOOKS[what](study, honest) else "not found") == said


def test_the_table_has_every_forgery_with_every_means() -> None:
    assert len({(who, what) for who, what, _ in promises()}) == 5 * 4
