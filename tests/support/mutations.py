"""Random mutations of a finished study: of any of its files, of bytes or of values."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tests.support.forgery import forge, forge_journal, rewrite
from userturn.storage.journal import decode_line, encode_line
from userturn.study.record import read_study_record
from userturn.workflow.job_record import STAMP, write_record

NO_RESULTS = ("audit", "leases", "checkpoints")  # an audit, who was at work, steps of trainings
LEVELS = (
    "file",
    "maker",
    "chain",
)  # what is altered: the file, its maker's record too, all records

NAMED_ONLY = ("item", "sample")  # in a journal's line for people who look at it: its key counts


def drawn_files(results: Path, n: int, rng: np.random.Generator) -> list[Path]:
    """Draw files of a study, of every kind in turn, so that kinds with few files are drawn, too.

    Of a folder at the top, files of one name are a kind, as `user_turns.parquet` of all cells are.
    So are files of one ending whose names are their own, as tables are.
    """
    files = [path for path in sorted(results.rglob("*")) if path.is_file()]
    files = [path for path in files if _is_a_result(results, path)]
    tops = {path: path.relative_to(results).parts[0] for path in files}
    n_named = Counter((tops[path], path.name) for path in files)
    of_kind: dict[tuple[str, str], list[Path]] = {}
    for path in files:
        is_shared = n_named[tops[path], path.name] > 1
        kind = (tops[path], path.name if is_shared else path.suffix)
        of_kind.setdefault(kind, []).append(path)
    kinds = list(of_kind.values())
    order = cycle(kinds[place] for place in rng.permutation(len(kinds)))
    return [of_it[int(rng.integers(len(of_it)))] for of_it in islice(order, n)]


def _is_a_result(results: Path, path: Path) -> bool:
    return path.relative_to(results).parts[0] not in NO_RESULTS and path.name != STAMP


def mutated_bytes(results: Path, path: Path, rng: np.random.Generator) -> None:
    """Mutate or delete a file of a study.

    An empty one is a lock, which is not deleted: no study is another for that.
    """
    if rng.random() < 0.15 and path.stat().st_size:
        path.unlink()
    else:
        path.write_bytes(byte_mutated(path.read_bytes(), rng))


def byte_mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Return other bytes: one bit flipped, some overwritten, cut off, added, or all gone."""
    place = int(rng.integers(len(content))) if content else 0
    noise = rng.bytes(16)
    made = [
        content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :] if content else noise,
        content[:place] + noise + content[place + len(noise) :],
        content[: len(content) // 2],
        content[:place],
        content + noise,
        b"",
    ]
    others = [other for other in made if other != content]
    return others[int(rng.integers(len(others)))]


def mutated_values(
    results: Path, path: Path, rng: np.random.Generator, level: str = "file"
) -> None:
    """Edit a file of a study, validly.

    Args:
        results: folder of the study.
        path: of the file.
        rng: draws place and value.
        level: one of LEVELS; the checksum inside a record or journal line is right in each but the
            first.
    """
    name, is_forged = path.relative_to(results).as_posix(), level != "file"
    if name.startswith("provenance/"):
        mutate_record(path, rng, is_forged)
    elif path.suffix == ".jsonl":
        mutate_journal(path, rng)
    else:
        _mutate(path, rng)
    if name == "study.json" and is_forged:
        _correct_identity(results)
    if path.suffix == ".jsonl" and is_forged:
        forge_journal(results, path)
    elif is_forged:
        forge(results, name, everywhere=level == "chain")


def _mutate(path: Path, rng: np.random.Generator) -> None:
    match path.suffix:
        case ".parquet":
            mutate_table(path, rng)
        case ".json":
            mutate_json(path, rng)
        case ".png" | ".account" | ".pt" | ".bin" | ".safetensors":
            path.write_bytes(byte_mutated(path.read_bytes(), rng))
        case _:
            mutate_text(path, rng)


def other_value(value: Any, rng: np.random.Generator) -> Any:
    """Return another value of the same kind; the same if it is empty."""
    match value:
        case bool():
            return not value
        case int():
            return value + int(rng.integers(1, 9))
        case float():
            return value + float(rng.uniform(0.01, 0.5)) if np.isfinite(value) else 0.5
        case str():
            return other_text(value, rng)
        case list() if value:
            place = int(rng.integers(len(value)))
            return [*value[:place], other_value(value[place], rng), *value[place + 1 :]]
        case dict() if value:
            name = sorted(value)[int(rng.integers(len(value)))]
            return {**value, name: other_value(value[name], rng)}
    return value


def other_text(text: str, rng: np.random.Generator) -> str:
    """Return a text with a digit changed, a word exchanged, or some words added."""
    digits = [match.start() for match in re.finditer("[0-9]", text)]
    if digits and rng.random() < 0.5:
        place = digits[int(rng.integers(len(digits)))]
        digit = (int(text[place]) + int(rng.integers(1, 10))) % 10
        return f"{text[:place]}{digit}{text[place + 1 :]}"
    words = text.split(" ")
    words[int(rng.integers(len(words)))] += str(rng.choice(["s", " indeed", "?"]))
    return " ".join(words)


def mutate_table(path: Path, rng: np.random.Generator) -> None:
    """Change one value of a table, or drop, double or move a row; its metadata stays."""
    table = pl.read_parquet(path)
    kind = rng.random()
    if table.height == 0:
        rewrite(path, lambda table: table.with_columns(more=pl.lit(1)))
    elif kind < 0.1:
        rewrite(path, lambda table: table[1:])
    elif kind < 0.2:
        rewrite(path, lambda table: pl.concat([table, table[-1:]]))
    elif kind < 0.25 and table.height > 1 and not table[0].equals(table[-1]):
        rewrite(path, lambda table: pl.concat([table[-1:], table[1:-1], table[:1]]))
    else:
        _mutate_value(path, table, rng)


def _mutate_value(path: Path, table: pl.DataFrame, rng: np.random.Generator) -> None:
    there = [name for name in table.columns if table[name].null_count() < table.height]
    changed = table
    while changed.equals(table):
        name = there[int(rng.integers(len(there)))]
        rows = table[name].is_not_null().arg_true()
        row, values = int(rows[int(rng.integers(len(rows)))]), table[name].to_list()
        values[row] = other_value(values[row], rng)
        changed = table.with_columns(pl.Series(name, values, dtype=table.schema[name]))
    rewrite(path, lambda _: changed)


def mutate_json(path: Path, rng: np.random.Generator) -> None:
    """Change one value of a JSON file, other than what it says of itself."""
    content: Any = json.loads(path.read_text(encoding="utf-8"))
    says = content if isinstance(content, dict) else {}
    kept = {name: says[name] for name in ("artifact", "usermeta") if name in says}
    changed = _other(content, kept, rng)
    path.write_text(json.dumps(changed, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _other(content: Any, kept: Mapping[str, Any], rng: np.random.Generator) -> Any:
    changed = content
    while changed == content:
        changed = other_value(content, rng)
        changed = {**changed, **kept} if kept else changed
    return changed


def mutate_record(path: Path, rng: np.random.Generator, is_forged: bool) -> None:
    """Change one value of a provenance record, and its checksum too if it is forged."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    changed = _other(content, {"checksum": content["checksum"]}, rng)
    if is_forged:
        changed.pop("checksum")
        write_record(path, changed)
    else:
        path.write_text(json.dumps(changed, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def mutate_journal(path: Path, rng: np.random.Generator) -> None:
    """Change one value of a line of a journal that is read, with the checksum of the line."""
    lines = path.read_bytes().splitlines(keepends=True)
    place = int(rng.integers(len(lines)))
    line = decode_line(lines[place])
    assert line is not None
    named = {name: line[name] for name in NAMED_ONLY if name in line}
    lines[place] = encode_line(_other(line, named, rng))
    path.write_bytes(b"".join(lines))


def mutate_text(path: Path, rng: np.random.Generator) -> None:
    """Change one digit or word of a text."""
    text = path.read_text(encoding="utf-8")
    path.write_text(other_text(text, rng), encoding="utf-8")


def _correct_identity(results: Path) -> None:
    """Write the identity of an edited record of a study into it."""
    path = results / "study.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["artifact"]["identity"] = read_study_record(results).identity
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
