"""What a study was made of, as the report says it: models, datasets, judges and settings.

Times, machines and commits are not part of it: a second run of the study gives the same page.
"""

from collections.abc import Mapping
from typing import Any

from userturn.config.endpoint_models import has_endpoint, served_as
from userturn.config.formats import in_default, is_chat
from userturn.generation.server_record import server_records
from userturn.judges.kinds import about
from userturn.prompts.header import header_of
from userturn.study.grid import Grid
from userturn.study.model_description import in_words, recorded_runners

SETTINGS = ("answer", "user_turn", "samples", "engine", "determinism", "statistics", "seed")
SOURCES = (
    "hub",
    "file",
    "config",
    "split",
    "files",
    "folder",
    "url",
)  # settings of a dataset that say where its rows are from


def how_made(grid: Grid, descriptions: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Return rows of three texts: what it is, its name, and what it was made from.

    Args:
        grid: the study's grid.
        descriptions: of each model, in the order of the report, its file in results/models.
    """
    models = [
        [
            "model",
            name,
            "; ".join([*_of_model(grid, name, descriptions[name]), *_of_server(grid, name)]),
        ]
        for name in descriptions
    ]
    datasets = [["dataset", name, _of_dataset(grid.datasets[name])] for name in grid.datasets]
    judges = [["judge", name, _of_judge(entry)] for name, entry in grid.judges.items()]
    settings = [["setting", name, _in_words(grid.config[name])] for name in SETTINGS]
    told = [*_two_runners(grid), *_headers(descriptions)]
    return [*models, *datasets, *judges, *_instructions(descriptions), *settings, *told]


def _instructions(descriptions: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each text by which models are told to play the user."""
    names: dict[str, list[str]] = {}
    for name, description in descriptions.items():
        if "instruction" in description:
            names.setdefault(description["instruction"], []).append(name)
    return [["role play", ", ".join(played), text] for text, played in sorted(names.items())]


def _headers(descriptions: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Return a row that says how much of the user header each model is shown, if they differ."""
    of_form: dict[str, list[str]] = {}
    for name, description in in_default(descriptions).items():
        of_form.setdefault(header_of(description), []).append(name)
    told = "; ".join(f"{form}: {', '.join(names)}" for form, names in sorted(of_form.items()))
    said = f"models are shown user headers of DIFFERENT forms, which may differ in rate: {told}"
    return [["setting", "user header", said]] if len(of_form) > 1 else []


def _two_runners(grid: Grid) -> list[list[str]]:
    """Return a row that says which texts are of which runner of vLLM, if there is more than one."""
    found = recorded_runners(grid.results)
    said = f"TWO model runners of vLLM wrote texts, which draw differently: {in_words(found)}"
    return [["setting", "engine", said]] if len(found) > 1 else []


def _in_words(value: Any) -> str:
    """Return a setting, or several by name, as text; the study's record has another order."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_in_words(one)}" for name, one in sorted(value.items()))
    return f"{value}"


def _of_model(grid: Grid, model: str, description: Mapping[str, Any]) -> list[str]:
    if is_chat(grid.models[model]):
        return ["behind a chat API"]
    weights = description.get("weights_sha256") or {}
    hashes = [f"{name} sha256 {digest[:12]}" for name, digest in sorted(weights.items())]
    revision = description.get("revision")
    parts = [description["source"], *([f"revision {revision}"] if revision else hashes[:1])]
    return [", ".join(parts)]


def _of_server(grid: Grid, model: str) -> list[str]:
    """Return what a server says of itself, and what it cannot promise; nothing for other models."""
    entry = grid.models[model]
    noted = next(server_records(grid, model), None)
    if not has_endpoint(entry) or noted is None:
        return []
    way = noted["dialect"]
    lacks = {
        "token ids of prompts": way["takes_ids"],
        "token ids of replies": way["returns_ids"],
        "seeds": noted["keeps_seeds"],
        "top_k": noted["keeps_top_k"],
        "log-likelihoods": way["scores_by"],
    }
    missing = [name for name, is_kept in lacks.items() if not is_kept]
    told = ", ".join(f"{name} {value}" for name, value in sorted(noted["account"].items()))
    promises = f"which does not keep: {', '.join(missing)}" if missing else "which keeps everything"
    return [
        f"served as '{served_as(entry)}' by a server ({told or 'which tells nothing'})",
        promises,
        *_drift(noted),
    ]


def _drift(noted: Mapping[str, Any]) -> list[str]:
    """Return how far from the first sweep's server a later one's was, if it was."""
    found = []
    if "apart" in noted:
        found.append(
            f"a later sweep found the log-likelihoods of fixed texts {noted['apart']} nats a token "
            "apart"
        )
    if "n_again" in noted:
        n = len(noted["greedy"])
        found.append(f"a later sweep found {noted['n_again']} of its {n} greedy texts again")
    return found


def _of_dataset(entry: Mapping[str, Any]) -> str:
    places = [str(entry[name]) for name in SOURCES if name in entry]
    revision = entry.get("revision")
    return ", ".join([*places, *([f"revision {revision}"] if revision else [])])


def _of_judge(entry: Mapping[str, Any]) -> str:
    parts = [about(entry)]
    parts += [f"model {entry['model']}"] if entry.get("model") else []
    parts += [_in_words(entry["settings"])] if entry.get("settings") else []
    priced = entry.get("price")
    parts += [f"price of a million tokens: {_in_words(priced)}"] if priced else []
    return "; ".join(parts)
