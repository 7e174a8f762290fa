"""The settings that affect an artifact, by readable names, and how two sets differ."""

from collections.abc import Iterator, Mapping
from typing import Any

from userturn.storage.hashing import canonical_json, short_hash
from userturn.study.grid import Grid

LONGEST = 60  # characters shown of a setting
DATASET = (
    *("hub", "revision", "file", "config", "split", "files"),
    *("language", "limit", "condition", "instruction"),
)


def short(value: Any) -> str:
    """Return a setting as a short text; a hash is cut to its beginning."""
    text = value if isinstance(value, str) else canonical_json(value)
    kind, _, digest = text.rpartition(":")
    if len(digest) == 64 and not set(digest) - set("0123456789abcdef"):
        return f"{kind}:{short_hash(digest)}" if kind else short_hash(digest)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def settings_of(grid: Grid, wildcards: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings that affect a job's outputs, by readable names.

    A job without wildcards is affected by the settings of the whole study.
    """
    chosen: dict[str, Mapping[str, Any]] = {
        "model": grid.contents.models,
        "dataset": {name: _dataset(grid, name) for name in grid.contents.datasets},
        "perturbation": grid.contents.perturbations,
        "judge": grid.contents.judges,
    }
    found: dict[str, Any] = {}
    for kind, known in chosen.items():
        names = sorted(known) if not wildcards else [wildcards.get(kind, "")]
        found |= {f"{kind} {name}": known[name] for name in names if name in known}
    if not wildcards or {"model", "dataset"} <= set(wildcards):
        model = wildcards.get("model")
        found["seed"] = grid.config["seed"]
        found["answer"] = (
            grid.answer_settings(model) if model in grid.models else grid.config["answer"]
        )
    if not wildcards or "temperature" in wildcards:
        found["temperature"] = wildcards.get("temperature", sorted(grid.temperatures))
        found |= {key: grid.config[key] for key in ("samples", "user_turn")}
    if not wildcards:
        found |= {key: grid.config[key] for key in ("primary_judge", "statistics")}
    return found


def _dataset(grid: Grid, name: str) -> dict[str, Any]:
    entry = grid.config["datasets"][name]
    told = {key: entry[key] for key in DATASET if key in entry}
    return {**told, "identity": grid.contents.datasets[name]}


def flat(name: str, value: Any) -> dict[str, Any]:
    """Return nested settings flattened to names with dots, below `name`."""
    if not isinstance(value, Mapping):
        return {name: value}
    return {key: v for k, inner in value.items() for key, v in flat(f"{name}.{k}", inner).items()}


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield in words each difference between two results of `settings_of`."""
    for group in sorted(before.keys() | now.keys()):
        if group not in before:
            yield f"{group}: not then, asked for now"
        elif group not in now:
            yield f"{group}: asked for then, not now"
        else:
            was, is_now = flat(group, before[group]), flat(group, now[group])
            for name in sorted(was.keys() | is_now.keys()):
                if was.get(name) != is_now.get(name):
                    texts = (short(s[name]) if name in s else "none" for s in (was, is_now))
                    yield "{}: {} then, {} now".format(name, *texts)
