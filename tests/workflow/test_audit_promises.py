"""The table in docs/audit.md: who wants to cheat, with what it is looked for, and what is found."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.support.forgery import first_row, flip, forge, forge_journal, rewrite
from tests.support.snakemake_runs import ROOT, run
from userturn.audit.check_reruns import Samples, rerun
from userturn.audit.check_signature import check_signature
from userturn.audit.findings import Finding
from userturn.audit.run import audit
from userturn.errors import UserError
from userturn.export.read_archive import opened
from userturn.export.signature import sign
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
    """Edit the journal, and let the workflow make everything after it again.

    The cell is perturbed, so no sample for people holds its texts.
    """
    keys = set(pl.read_parquet(results / PERTURBED / "user_turns.parquet")["key"])
    for path in results.glob("journal/tiny/word-problems/*.jsonl"):
        lines = [decode_line(line) or {} for line in path.read_bytes().splitlines(keepends=True)]
        edited = [{**line, "text": "Why?"} if line["key"] in keys else line for line in lines]
        path.write_bytes(b"".join(map(encode_line, edited)))
        forge_journal(results, path)
    (results / PERTURBED / "user_turns.parquet").unlink()
    run(results.parent)
    for name in ("user_turns.parquet", "verdicts/heuristic.parquet"):
        forge(results, f"{PERTURBED}/{name}", everywhere=True)


def by_folder(study: Path) -> bool:
    return bool(audit(study / "results").findings)


def by_archive(study: Path) -> bool:
    archive = study.parent / f"{study.name}.zip"
    try:
        export(study / "results", archive)
    except UserError:
        return True  # nobody gets an archive of files that cannot be read
    with opened(archive) as unpacked:
        return bool(audit(unpacked).findings)


def by_regeneration(study: Path) -> bool:
    found = rerun(study / "results", Samples(n_regenerated=ALL))
    return any(isinstance(item, Finding) for item in found)


FORGERIES: dict[str, Callable[[Path], None]] = {
    "accident": accident,
    "careless edit": careless_edit,
    "edit with all hashes": edit_with_hashes,
    "whole chain": whole_chain,
}


class Published:
    """What honest authors published of a study: its digest, and its archive with a signature."""

    def __init__(self, study: Path, folder: Path) -> None:
        self.digest = audit(study / "results").digest
        self.archive, key, self.signers = folder / "results.zip", folder / "key", folder / "signers"
        export(study / "results", self.archive)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        self.signers.write_text(f"ada {key.with_suffix('.pub').read_text()}")
        sign(self.archive, key)

    def by_digest(self, study: Path) -> bool:
        return audit(study / "results").digest != self.digest

    def by_signature(self, study: Path) -> bool:
        try:
            export(study / "results", self.archive)
        except UserError:
            return True
        found = check_signature(self.archive, self.signers)
        return any(isinstance(item, Finding) for item in found)


@pytest.fixture(scope="module")
def forged(finished_study: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The project of a study under each forgery."""
    made = {}
    for name, forge_it in FORGERIES.items():
        made[name] = tmp_path_factory.mktemp("forged") / "study"
        shutil.copytree(finished_study, made[name], copy_function=shutil.copy)
        forge_it(made[name] / "results")
    # Who invents a study publishes digest and signature of the invention.
    return made | {"invented study": made["whole chain"]}


def promises() -> list[tuple[str, str, str]]:
    """Return who cheats, with what it is looked for, and what the table says of it."""
    text = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    lines = text[text.index("| who |") :].split("\n\n")[0].splitlines()
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [
        (row[0], what, said) for row in rows for what, said in zip(head[1:], row[1:], strict=True)
    ]


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
@pytest.mark.parametrize(("who", "what", "said"), promises())
def test_what_the_table_says_is_found_is_found_and_nothing_else(
    who: str,
    what: str,
    said: str,
    forged: dict[str, Path],
    finished_study: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = forged[who]
    monkeypatch.chdir(study)
    honest = study if who == "invented study" else finished_study
    looks: dict[str, Callable[[Path], bool]] = {
        "folder": by_folder,
        "archive": by_archive,
        "published digest": lambda study: Published(honest, tmp_path).by_digest(study),
        "signature": lambda study: Published(honest, tmp_path).by_signature(study),
        "regeneration": by_regeneration,
    }
    assert ("found" if looks[what](study) else "not found") == said


def test_the_table_has_every_forgery_with_every_means() -> None:
    assert len({(who, what) for who, what, _ in promises()}) == 5 * 5
