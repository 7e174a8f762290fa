"""`userturn export`: one archive of a finished study that anyone can check.

Files that are left out are listed with hash and reason in `left_out.json`, so that all hashes in
records can still be checked. Equal content gives an equal archive.
"""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from shlex import quote

from userturn.config.entries import Config
from userturn.config.load import INSTALLATION, LIBRARY, REGISTRATION
from userturn.config.trust import is_of_this_folder
from userturn.errors import UserError
from userturn.export.read_archive import LEFT_OUT, check_links
from userturn.export.ro_crate import CITATION, README, Member, authors_of, crate_metadata
from userturn.export.secrets import Secret, key_values
from userturn.export.withheld import Withholding, Written, checked, refuse, text_of
from userturn.storage.files import paths_below, written_whole
from userturn.storage.hashing import file_sha256
from userturn.study.record import read_study_record
from userturn.wording import number_of
from userturn.workflow.job_record import PROVENANCE, JobRecord
from userturn.workflow.study_files import Files, is_hidden

METADATA = "ro-crate-metadata.json"
# The project's own files, which say how the results were made.
WORKFLOW_FILES = ("Snakefile", "config.yaml", "pyproject.toml", "LICENSE", CITATION, REGISTRATION)
WORKFLOW_FOLDERS = ("rules", "scripts", "envs", "src", "profiles/default")
OURS_ALONE = re.compile(r"__pycache__|\.egg-info/|(^|/)\.")  # not part of the workflow
NOTHING: Mapping[str, str] = {}
COMPRESSED = (".parquet", ".png", ".gz")
TEXT = """# A study of userturn

This archive is a Workflow Run RO-Crate: `{metadata}` describes every step in the
community's terms, `results/provenance/` in our own.
`results/README.md`, if included, describes each file and column; begin with
`results/report/index.html`.

To check it, install userturn and run `userturn audit` on this file, still packed. `VERIFY.md` has
its digest and three of its numbers in a few lines of other tools.

Left out: {n_left_out}. `{left_out}` has each with its hash, so that what was made from
them can still be checked:

{reasons}

Provenance records name the machines that did the work.
"""
# How to check an archive's digest and three of its numbers by standard tools.
VERIFY = """# Verify without userturn

In the unpacked archive. The digest of the study's artifacts and of how each was made from which,
with Python's standard library alone; it must be the one that `userturn audit` prints and that the
authors published:

```python
import hashlib, json
from pathlib import Path
of_a_run = ("results/checkpoints/", "results/leases/", "results/sweeps/", "results/judging/")
lasting = lambda named: {{p: h for p, h in named.items() if not p.startswith(of_a_run)}}
sha256 = lambda path: hashlib.sha256(Path(path).read_bytes()).hexdigest()
listed = json.loads(Path("left_out.json").read_text())["files"]
left_out = {{file["path"]: file["sha256"] for file in listed}}
places = Path("results/provenance").rglob("*.json")
records = {{place.as_posix(): json.loads(place.read_bytes()) for place in places}}
made = lasting({{p: "" for r in records.values() for p in [*r["outputs"], *r["beside"]]}})
there = {{p: sha256(p) for p in made if Path(p).is_file()}}
artifacts = {{p: h for p, h in left_out.items() if p in made}} | there
named = ("schema_version", "rule", "wildcards", "identity")
files = ("inputs", "outputs")
jobs = {{path: {{k: r[k] for k in named}} | {{k: lasting(r[k]) for k in files}}
        for path, r in records.items()}}
text = json.dumps({{"artifacts": artifacts, "records": jobs}}, sort_keys=True,
                  separators=(",", ":"), ensure_ascii=False)
print(hashlib.sha256(text.encode()).hexdigest())
```

Three numbers of the tables, counted in DuckDB from the rows that this archive has (those of private
datasets are not here). Rates of genuine follow-ups, by cell, as in `results/tables/rates.csv`:

```sql
SELECT model, dataset, temperature, perturbation,
       AVG(CAST(genuine AS INTEGER)) AS rate, COUNT(genuine) AS n_scored
FROM read_parquet('results/cells/*/*/*/*/verdicts/{judge}.parquet')
GROUP BY model, dataset, temperature, perturbation
```

Turns that have no label, by reason:

```sql
SELECT model, unscored_reason, COUNT(*) AS n_turns
FROM read_parquet('results/cells/*/*/*/*/verdicts/{judge}.parquet')
WHERE genuine IS NULL GROUP BY model, unscored_reason
```

Right answers, as in `results/tables/accuracy.csv`:

```sql
SELECT model, dataset, AVG(CAST(correct AS INTEGER)) AS accuracy, COUNT(correct) AS n_graded
FROM read_parquet('results/grades/*/*.parquet')
GROUP BY model, dataset
```
"""


def export(
    results: Path,
    archive: Path | None = None,
    with_journals: bool = False,
    more: Mapping[str, str] = NOTHING,
) -> Written:
    """Write the archive of a study, with the project's files beside it, and return a summary.

    `archive` is by default the folder's name with `.zip`. `more` has further texts by path.

    Raises:
        UserError: there is no finished study, it contains a secret, or the archive would be inside
            it or has no name in .zip. Nothing is written then.
        OSError: a folder may not be read, so that files would be missing.
    """
    if not is_of_this_folder(results):
        check_links(results)
    config = read_study_record(results).config
    records = read_records(results)
    whole = results.resolve()
    target = archive or whole.with_name(f"{whole.name}.zip")
    if target.suffix.lower() != ".zip" or target.is_dir():
        raise UserError(f"--to: found '{target}', expected a file whose name ends in .zip")
    if target.resolve().is_relative_to(whole):
        raise UserError(
            f"'{target}' would be inside the folder that it contains; name another place"
        )
    below = {path.relative_to(results): path for path in paths_below(results) if path.is_file()}
    files = project_files(results, records)
    files |= {f"results/{p.as_posix()}": path for p, path in below.items() if not is_hidden(p)}
    members = list(_members(files, results, config, with_journals))
    included = {m.path: files[m.path] for m in members if m.reason is None}
    left_out = {"files": [m._asdict() for m in members if m.reason is not None]}
    texts = {"VERIFY.md": VERIFY.format(judge=config["primary_judge"]), **more}
    texts |= {LEFT_OUT: json.dumps(left_out, indent=1) + "\n", README: _readme(members)}
    contents = {name: text.encode() for name, text in texts.items()}
    ours = [Member(n, len(text), sha256(text).hexdigest()) for n, text in contents.items()]
    authors = authors_of(whole.parent)
    advice = f"; it names no authors: a {CITATION} in '{whole.parent}' would"
    crate = crate_metadata([*members, *ours], records, authors)
    texts[METADATA] = json.dumps(crate, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    _write(target, included, texts)
    message = (
        f"{target}: {number_of(len(included), 'file')}, {len(members) - len(included)} left "
        f"out, with their hashes in {LEFT_OUT}; `userturn audit {quote(str(target))}` checks it"
        f"{_quoting(members)}{'' if authors else advice}"
    )
    return Written(message, str(target), len(included), len(members) - len(included))


def _quoting(members: list[Member]) -> str:
    """Return a text with the datasets that are withheld because they share private rows."""
    return "".join(
        f"; {PurePosixPath(member.path).stem} is withheld, too: it has {member.reason}"
        for member in members
        if member.path.startswith("results/datasets/")
        and (member.reason or "").startswith(text_of(""))
    )


def read_records(results: Path) -> dict[str, JobRecord]:
    """Return the readable provenance records of a study, by the names of their jobs."""
    beginning = f"{PROVENANCE}/"
    readable = Files(results, {}).readable
    return {p.removeprefix(beginning).removesuffix(".json"): record for p, record in readable}


def project_files(results: Path, records: Mapping[str, JobRecord]) -> dict[str, Path]:
    """Return the paths of project files that jobs used and of workflow files, by archive path."""
    project = results.resolve().parent
    inputs = {path for record in records.values() for path in record["inputs"]}
    texts = {path for path in inputs if not path.startswith(("results/", "outside/", "/"))}
    files = {
        path: project / path
        for path in sorted(texts)
        if ".." not in PurePosixPath(path).parts and (project / path).is_file()
    }
    if (project / CITATION).is_file():
        files[CITATION] = project / CITATION
    if not (project / WORKFLOW_FILES[0]).is_file():
        return files
    root = project if (project / WORKFLOW_FOLDERS[0]).is_dir() else INSTALLATION
    parts = [root / name for name in (*WORKFLOW_FILES, *WORKFLOW_FOLDERS)]
    workflow = [f for part in parts for f in (part.rglob("*") if part.is_dir() else [part])]
    named = {path.relative_to(root).as_posix(): path for path in sorted(workflow)}
    if not (root / "src").is_dir():  # a wheel has the workflow inside the library
        of_library = (path for path in LIBRARY.rglob("*") if root not in path.parents)
        named |= {f"src/userturn/{f.relative_to(LIBRARY).as_posix()}": f for f in of_library}
    ours = {name: f for name, f in named.items() if f.is_file() and not OURS_ALONE.search(name)}
    return ours | files


def _members(
    files: Mapping[str, Path], results: Path, config: Config, with_journals: bool
) -> Iterator[Member]:
    """Yield every file with its hash and why it is left out, if it is. Refuse secrets in others."""
    withholding, values = Withholding(config, results), key_values(config)
    secrets: list[Secret] = []
    for name, path in sorted(files.items()):
        reason = withholding.reason_by_path(name) or _no_use(name, with_journals)
        if reason is None:
            reason, secrets_here = checked(path, withholding, values)
            secrets += secrets_here if reason is None else []
        yield Member(name, path.stat().st_size, file_sha256(path), reason)
    refuse(secrets)


def _no_use(name: str, with_journals: bool) -> str | None:
    """Return why a file that may be exported is left out anyway, or None."""
    parts = PurePosixPath(name).parts
    if parts[:2] == ("results", "leases"):
        return "says which job was at work"
    if parts[:2] == ("results", "checkpoints"):
        return "a step of a training, whose last one is the trained model"
    if parts[:2] == ("results", "journal") and parts[-1] != "rejudged.json" and not with_journals:
        return "journals were not requested (`--with-journals`)"
    return None


def _readme(members: list[Member]) -> str:
    reasons = [member.reason for member in members if member.reason is not None]
    lines = [f"- {reasons.count(reason)}: {reason}" for reason in sorted(set(reasons))]
    return TEXT.format(
        metadata=METADATA,
        left_out=LEFT_OUT,
        n_left_out=number_of(len(reasons), "file"),
        reasons="\n".join(lines),
    )


def _write(target: Path, files: Mapping[str, Path], texts: Mapping[str, str]) -> None:
    with (
        written_whole(target) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in sorted({*files, *texts}):
            info = zipfile.ZipInfo(name)  # dated 1980, independent of the clock
            info.external_attr = 0o644 << 16
            is_compressed = name.endswith(COMPRESSED)
            info.compress_type = zipfile.ZIP_STORED if is_compressed else zipfile.ZIP_DEFLATED
            if name in texts:
                archive.writestr(info, texts[name])
            else:
                info.file_size = files[name].stat().st_size
                with files[name].open("rb") as source, archive.open(info, "w") as goal:
                    while part := source.read(1 << 20):
                        goal.write(part)
