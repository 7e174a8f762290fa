"""Random mutations of a finished study: of its bytes, or of its values."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tests.support.forgery import rewrite

Mutation = Callable[[Path, np.random.Generator], None]

WEIGHTS = {  # how often a file of each kind is edited
    "datasets/*.parquet": 5,
    "answers/*/*.parquet": 10,
    "grades/*/*.parquet": 3,
    "requests/*/*/*/*.parquet": 5,
    "cells/*/*/*/*/user_turns.parquet": 31,
    "cells/*/*/*/*/verdicts/*.parquet": 9,
    "cells/*/*/*/*/summary.parquet": 4,
    "cells/*/*/*/*/human_sample.parquet": 3,
    "controls/**/*.parquet": 5,
    "chance_floor/**/*.parquet": 4,
    "labelled/**/*.parquet": 4,
    "tables/*.parquet": 29,
    "tables/*.csv": 5,
    "tables/*.md": 5,
    "tables/*.tex": 5,
    "humans/*/key.parquet": 3,
    "humans/*/annotations.parquet": 2,
    "models/*.json": 6,
    "revisions/*.json": 2,
    "figures/*.vl.json": 2,
    "figures/*.svg": 2,
    "report/index.html": 2,
}
NO_RESULTS = ("audit", "leases")  # what an audit writes, and who was at work


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


def other_value(value: Any, rng: np.random.Generator) -> Any:
    """Return another value of the same kind."""
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
    digits = [place for place, letter in enumerate(text) if letter.isdigit()]
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
    name = there[int(rng.integers(len(there)))]
    rows = table[name].is_not_null().arg_true()
    row, values = int(rows[int(rng.integers(len(rows)))]), table[name].to_list()
    values[row] = other_value(values[row], rng)
    changed = pl.Series(name, values, dtype=table.schema[name])
    rewrite(path, lambda table: table.with_columns(changed))


def mutate_json(path: Path, rng: np.random.Generator) -> None:
    """Change one value of a JSON file, other than what it says of itself."""
    content: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    name = str(rng.choice(sorted(n for n, value in content.items() if n != "artifact" and value)))
    changed = {**content, name: other_value(content[name], rng)}
    path.write_text(json.dumps(changed, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def mutate_text(path: Path, rng: np.random.Generator) -> None:
    """Change one digit or word of a text."""
    text = path.read_text(encoding="utf-8")
    path.write_text(other_text(text, rng), encoding="utf-8")


def mutated_bytes(results: Path, rng: np.random.Generator) -> str:
    """Mutate or delete a random file of a study and return its path in the results."""
    files = sorted(p for p in results.rglob("*") if p.is_file() and _is_a_result(results, p))
    path = files[int(rng.integers(len(files)))]
    if rng.random() < 0.15:
        path.unlink()
    else:
        path.write_bytes(byte_mutated(path.read_bytes(), rng))
    return path.relative_to(results).as_posix()


def _is_a_result(results: Path, path: Path) -> bool:
    parts = path.relative_to(results).parts
    return parts[0] not in NO_RESULTS and not path.name.startswith(".")


def mutated_values(results: Path, rng: np.random.Generator) -> str:
    """Edit a random file of a study, validly, and return its path in the results."""
    kinds = {kind: weight for kind, weight in WEIGHTS.items() if any(results.glob(kind))}
    shares = np.array(list(kinds.values())) / sum(kinds.values())
    files = sorted(results.glob(str(rng.choice(list(kinds), p=shares))))
    path = files[int(rng.integers(len(files)))]
    before = path.read_bytes()
    while path.read_bytes() == before:
        _mutation_of(path)(path, rng)
    return path.relative_to(results).as_posix()


def _mutation_of(path: Path) -> Mutation:
    return {".parquet": mutate_table, ".json": mutate_json}.get(path.suffix, mutate_text)
