"""Write a study's cells in the format of Every Eval Ever: results, and a row for each verdict.

The schema is that of https://github.com/evaleval/every_eval_ever, version 0.3.0. Each file has one
cell by all judges. Rows of the cell that may be exported are in a file beside it, in the folders
of the datastore. A turn without a verdict has no row, since a row would read as a negative label.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import UUID

from userturn.config.endpoint_models import served_as
from userturn.config.formats import format_of, is_chat, model_of
from userturn.export.inspect_logs import times_of
from userturn.export.withheld import (
    Written,
    open_cells,
    read_rates,
    read_turns,
    read_verdicts,
    write_checked,
)
from userturn.models.fetch import is_local
from userturn.storage.files import write_text
from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell
from userturn.study.grid import Grid
from userturn.study.model_description import read_description
from userturn.study.record import read_study_record
from userturn.wording import number_of

SCHEMA_VERSION = "0.3.0"
SAMPLES = "_samples.jsonl"
ARGUMENTS = ("temperature", "top_p", "top_k", "max_tokens")  # settings with a name in the schema
MEASURE = "share of scored user turns, written by the model after its own answer, that the judge "
MEASURE += "calls genuine follow-ups"
DETAILS = ("n_turns", "n_scored", "n_labelled", "corrected", "corrected_lower", "corrected_upper")
Json = dict[str, Any]


def write_every_eval_ever(results: Path, folder: Path, warning: str | None) -> Written:
    """Write each tabulated cell with the warning about its rates, and return a summary.

    Raises:
        UserError: there is no finished study, the folder is not empty, or there is a secret.
    """
    grid = read_study_record(results).grid(results)
    is_open = set(open_cells(grid))
    of_cells = {cell: read_rates(grid, cell) for cell in grid.cells}
    scored = {c: [r for r in rows if r["estimate"] is not None] for c, rows in of_cells.items()}
    cells = {cell: rates for cell, rates in scored.items() if rates}

    def write(where: Path) -> None:
        for cell, rates in cells.items():
            # The name in the datastore is a UUID of the cell's identity.
            name = UUID(fingerprint([grid.cell_identity(cell), "every eval ever"])[:32], version=4)
            developer, _, model = model_id(grid, cell).partition("/")
            path = f"data/userturn/{developer}/{model.replace('/', '_')}/{name}.json"
            log = aggregate(grid, cell, rates, warning)
            rows = list(instances(grid, cell, log)) if cell in is_open else []
            if rows:
                text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
                beside = path.removesuffix(".json") + SAMPLES
                write_text(text, where / beside)
                log["detailed_evaluation_results"] = {
                    "format": "jsonl",
                    "file_path": beside,
                    "hash_algorithm": "sha256",
                    "checksum": hashlib.sha256(text.encode()).hexdigest(),
                    "total_rows": len(rows),
                }
            _write(log, where / path)

    left_out = write_checked(folder, results, grid.config, write)
    for path in (name for name in left_out if name.endswith(SAMPLES)):
        whole = folder / (path.removesuffix(SAMPLES) + ".json")
        if whole.is_file():
            log = json.loads(whole.read_text(encoding="utf-8"))
            _write({key: log[key] for key in log if key != "detailed_evaluation_results"}, whole)
    n_private = sum(cell not in is_open for cell in cells) + len(left_out)
    message = (
        f"{folder}: results of {number_of(len(cells), 'cell')}, {n_private} without rows; "
        f"`every_eval_ever validate '{folder}/data/**/*.json*'` checks them"
    )
    return Written(message, str(folder), len(cells), n_private)


def _write(log: Json, path: Path) -> None:
    write_text(json.dumps(log, indent=1, ensure_ascii=False) + "\n", path)


def model_id(grid: Grid, cell: Cell) -> str:
    """Return the model's id on the hub, or `local/` and its name if it is not from the hub."""
    entry, description = grid.models[cell.model], read_description(grid, cell.model)
    source = served_as(entry) if is_chat(entry) else str(description["source"])
    is_of_hub = "/" in source if is_chat(entry) else not is_local(source)
    return source if is_of_hub else f"local/{model_of(cell.model)}"


def aggregate(grid: Grid, cell: Cell, rates: list[Json], warning: str | None) -> Json:
    """Return the content of a cell's file: its results by each judge, with intervals."""
    when = str(datetime.fromisoformat(times_of(grid, cell)["ended"]).timestamp())
    name = f"{cell.dataset}-t{cell.temperature}-{cell.perturbation}-{format_of(cell.model)}"
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{name}/{model_id(grid, cell)}/{when}",
        "evaluation_timestamp": when,
        "retrieved_timestamp": when,
        "source_metadata": {
            "source_name": "userturn",
            "source_type": "evaluation_run",
            "source_organization_name": "not stated",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "userturn", "version": version("userturn")},
        "model_info": _model(grid, cell),
        "evaluation_results": [_result(grid, cell, row, when, warning) for row in rates],
    }


def _model(grid: Grid, cell: Cell) -> Json:
    description, entry = read_description(grid, cell.model), grid.models[cell.model]
    is_ours = "endpoint" not in entry
    details = {
        "deployment_type": "self_deployed" if is_ours else "unknown",
        "model_availability": "open_weights" if is_ours else "unknown",
        "format": format_of(cell.model),
        **{key: description.get(key) for key in ("revision", "user_header")},
    }
    name = model_id(grid, cell)
    return {
        "name": cell.model,
        "id": name,
        "developer": name.partition("/")[0],
        "additional_details": _strings(details),
    }


def _result(grid: Grid, cell: Cell, rate: Json, when: str, warning: str | None) -> Json:
    details = {name: rate.get(name) for name in DETAILS} | {"warning": warning}
    settings = {"temperature": grid.temperatures[cell.temperature]} | grid.config["user_turn"]
    others = {key: settings[key] for key in settings if key not in ARGUMENTS}
    return {
        "evaluation_result_id": rate["judge"],
        "evaluation_name": cell.dataset,
        "source_data": _source(grid, cell.dataset),
        "evaluation_timestamp": when,
        "metric_config": {
            "evaluation_description": MEASURE,
            "metric_id": "userturn.genuine_followup_rate",
            "metric_name": "genuine follow-up rate",
            "metric_kind": "rate",
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
            "additional_details": _strings(
                {"judge": rate["judge"], "judged_by": grid.judges[rate["judge"]].get("model")}
            ),
        },
        "score_details": {
            "score": rate["estimate"],
            "details": _strings(details),
            "uncertainty": {
                "confidence_interval": {
                    **{name: rate[name] for name in ("lower", "upper")},
                    **{"confidence_level": 0.95, "method": rate["interval"]},
                },
                "num_samples": rate["n_scored"],
            },
        },
        "generation_config": {
            "generation_args": {key: settings[key] for key in ARGUMENTS if key in settings},
            "additional_details": _strings({"perturbation": cell.perturbation} | others),
        },
    }


def _source(grid: Grid, dataset: str) -> Json:
    entry = grid.dataset_settings(dataset)
    named = {"dataset_name": dataset, "source_type": "other"}
    if "hub" not in entry:
        return named
    of_hub = {"source_type": "hf_dataset", "hf_repo": entry["hub"]}
    return named | of_hub | ({"hf_split": entry["split"]} if "split" in entry else {})


def _strings(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the values that are not None as text, since the schema allows only text as details."""
    return {name: str(value) for name, value in values.items() if value is not None}


def instances(grid: Grid, cell: Cell, log: Json) -> Iterator[Json]:
    """Yield a row for each verdict with a label, by each judge in the results of `log`."""
    turns = read_turns(grid, cell).to_dicts()
    results = [result["evaluation_result_id"] for result in log["evaluation_results"]]
    for judge, verdicts in read_verdicts(grid, cell).items():
        for turn, verdict in zip(turns, verdicts.to_dicts(), strict=True):
            if judge in results and verdict["label"] is not None:
                yield _instance(turn, verdict, log)


def _instance(turn: Json, verdict: Json, log: Json) -> Json:
    messages = [(m["role"], m["content"]) for m in turn["messages"]]
    messages += [("assistant", turn["answer"]), ("user", turn["text"] or "")]
    raw, last = turn["messages"][-1]["content"], len(messages) - 1
    metadata = {name: verdict[name] for name in ("label", "rationale")}
    metadata |= {name: turn[name] for name in ("sample", "perturbation", "outcome", "key")}
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": log["evaluation_id"],
        "model_id": log["model_info"]["id"],
        "evaluation_name": turn["dataset"],
        "evaluation_result_id": verdict["judge"],
        "sample_id": turn["item"],
        "sample_hash": hashlib.sha256(raw.encode()).hexdigest(),
        "interaction_type": "multi_turn",
        "input": {"raw": raw, "formatted": turn["prompt_text"], "reference": []},
        "output": None,
        "messages": [
            {"turn_idx": number, "role": role, "content": text}
            for number, (role, text) in enumerate(messages)
        ],
        "answer_attribution": [
            {
                "turn_idx": last,
                "source": f"messages[{last}].content",
                "extracted_value": turn["text"] or "",
                "extraction_method": "custom",
                "is_terminal": True,
            }
        ],
        "evaluation": {
            "score": float(verdict["genuine"]),
            "is_correct": verdict["genuine"],
            "num_turns": len(messages),
        },
        "metadata": _strings(metadata),
    }
