"""Does every journal begin with what jobs recorded of it, and have no line that no job recorded?"""

from collections.abc import Iterator
from pathlib import PurePosixPath
from shlex import quote

from userturn.audit.findings import Finding, Note
from userturn.endpoints.account_files import is_sound
from userturn.provenance.job_record import JOURNAL
from userturn.provenance.study_files import Files, is_hidden
from userturn.storage.hashing import beginning_sha256, short_hash
from userturn.study.aliases import read_object

COSTS = "results/journal/costs/"  # accounts grow with every question and affect no row


def check_journals(files: Files) -> Iterator[Finding | Note]:
    """Yield journals that do not begin with what a job recorded, or go on after it."""
    if not files.has_journals:
        text = "not in this copy: rows were not compared with the replies of engine and judges"
        yield Note("journals", "results/journal", text)
        return
    for maker, record in files.readable:
        for name, noted in record["journals"].items():
            place = files.at(name)
            is_whole = place.is_file() and place.stat().st_size >= noted["n_bytes"]
            found = beginning_sha256(place, noted["n_bytes"]) if is_whole else None
            if found != noted["sha256"] and name not in files.left_out:
                yield Finding(
                    "journals",
                    name,
                    f"{noted['n_bytes']} first bytes of sha256 {short_hash(noted['sha256'])}",
                    "no file of that length" if found is None else f"sha256 {short_hash(found)}",
                    f"restore the file from a copy, or leave it: {maker} says what it was used for",
                )
    yield from _unrecorded_lines(files)
    yield from _accounts(files)


def _accounts(files: Files) -> Iterator[Finding]:
    """Yield damaged accounts of costs, trials of other judges, and locks that are not empty."""
    journals = files.results / "journal"
    folder = journals / "costs"
    damaged = [path for path in folder.glob("*/[!.]*.account") if not is_sound(path.read_bytes())]
    empty = [*journals.rglob("lock"), *folder.glob("in_flight/*/[!.]*")]
    damaged += [path for path in empty if path.is_file() and path.stat().st_size]
    trials = folder.glob("*/trial.json")
    damaged += [path for path in trials if read_object(path).get("judge") != path.parent.name]
    for place in sorted(damaged):
        name = f"results/{place.relative_to(files.results).as_posix()}"
        fix = "restore the file from a copy, or leave it: costs are counted in what is whole"
        yield Finding("journals", name, "as its process left it", "another content", fix)


def _unrecorded_lines(files: Files) -> Iterator[Finding]:
    """Yield journals with lines that no job recorded: they could replace recorded ones."""
    recorded: dict[str, int] = {}
    for _, record in files.readable:
        for name, noted in record["journals"].items():
            recorded[name] = max(recorded.get(name, 0), noted["n_bytes"])
    for place in sorted((files.results / "journal").rglob(f"*{JOURNAL}")):
        name = f"results/{place.relative_to(files.results).as_posix()}"
        if is_hidden(name):
            continue
        n_recorded = recorded.get(name, 0)
        with place.open("rb") as file:
            file.seek(n_recorded)
            if file.read().strip() and not name.startswith(COSTS):
                yield Finding(
                    "journals",
                    name,
                    f"{n_recorded} bytes, as its jobs recorded",
                    f"{place.stat().st_size} bytes; if a job was killed, the next `snakemake` "
                    "that asks for what it asked for records its lines",
                    _without_the_rest(name, n_recorded),
                )


def _without_the_rest(name: str, n_bytes: int) -> str:
    """Return the command that leaves the beginning of a journal, and moves the whole beside."""
    moved = f"mv {quote(name)} ."
    beside = quote(PurePosixPath(name).name)
    return f"{moved} && head -c {n_bytes} {beside} > {quote(name)}" if n_bytes else moved
