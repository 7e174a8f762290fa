"""Write a study as logs of Inspect: a cell is an eval, a turn is a sample.

The form is that of `EvalLog`, version 2, in inspect_ai 0.3.285
(https://inspect.aisi.org.uk/eval-logs.html). Inspect has no user turn as a model's output, so a
turn is written as the completion, and the conversation before it as the input.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from userturn.export.withheld import (
    Written,
    open_cells,
    read_rates,
    read_turns,
    read_verdicts,
    write_checked,
)
from userturn.storage.files import write_text
from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell
from userturn.study.grid import Grid
from userturn.study.model_description import read_description
from userturn.study.record import read_study_record
from userturn.wording import number_of
from userturn.workflow.job_record import PROVENANCE, read_record

VERSION = 2  # of Inspect's log format
BEFORE_ALL = "1970-01-01T00:00:00+00:00"  # the time if no record has one
STOPS = {"length": "max_tokens", "stop": "stop"}
SAMPLING = ("top_p", "top_k", "presence_penalty", "max_tokens")


def write_inspect_logs(results: Path, folder: Path) -> Written:
    """Write one log per cell whose rows may be exported, and return a summary.

    Raises:
        UserError: there is no finished study, the folder is not empty, or there is a secret.
    """
    grid = read_study_record(results).grid(results)
    cells = list(open_cells(grid))

    def write(where: Path) -> None:
        for cell in cells:
            log = eval_log(grid, cell)
            created = log["eval"]["created"].replace(":", "-")
            name = f"{created}_{cell.dataset}_{log['eval']['task_id']}.json"
            write_text(json.dumps(log, indent=1, ensure_ascii=False) + "\n", where / name)

    left_out = write_checked(folder, results, grid.config, write)
    n_private = len(grid.cells) - len(cells) + len(left_out)
    n = len(cells) - len(left_out)
    message = (
        f"{folder}: {number_of(n, 'log')}, one for each cell, "
        f"{number_of(n_private, 'cell')} left out; `inspect view --log-dir {folder}` shows them"
    )
    return Written(message, str(folder), n, n_private)


def eval_log(grid: Grid, cell: Cell) -> dict[str, Any]:
    """Return the log of a cell as a JSON object."""
    turns = read_turns(grid, cell)
    times = times_of(grid, cell)
    identity, when = grid.cell_identity(cell), times["ended"]
    samples = [_sample(row, identity, when) for row in turns.iter_rows(named=True)]
    for judge, verdicts in read_verdicts(grid, cell).items():
        for sample, verdict in zip(samples, verdicts.iter_rows(named=True), strict=True):
            if verdict["label"] is not None:  # 1 for a genuine follow-up, 0 for any other label
                score = {"value": int(verdict["genuine"]), "answer": verdict["label"]}
                sample["scores"][judge] = score | {"explanation": verdict["rationale"]}
    return {
        "version": VERSION,
        "status": "success",
        "eval": _spec(grid, cell, turns, times["began"]),
        "plan": {"name": "user_turn", "steps": [{"solver": cell.perturbation, "params": {}}]},
        "results": _results(grid, cell, turns.height),
        "stats": {"started_at": times["began"], "completed_at": times["ended"]},
        "samples": samples,
    }


def times_of(grid: Grid, cell: Cell) -> dict[str, str]:
    """Return when the job that collected a cell's turns `began` and `ended`, or `BEFORE_ALL`."""
    path = PROVENANCE.relative_to("results") / "collect_user_turns" / f"{cell.folder}.json"
    times = (read_record(grid.results / path) or {}).get("made", {})
    return {key: times.get(key, BEFORE_ALL) for key in ("began", "ended")}


def _spec(grid: Grid, cell: Cell, turns: pl.DataFrame, created: str) -> dict[str, Any]:
    identity = grid.cell_identity(cell)
    description = read_description(grid, cell.model)
    temperature = grid.temperatures[cell.temperature]
    settings = grid.config["user_turn"]
    items = turns["item"].unique(maintain_order=True).to_list()
    return {
        "eval_id": fingerprint([identity, "eval"])[:22],
        "run_id": fingerprint([grid.config, "run"])[:22],
        "task_id": fingerprint([identity, "task"])[:22],
        "created": created,
        "task": f"userturn/{cell.dataset}",
        "task_args": cell._asdict(),
        "dataset": {"name": cell.dataset, "samples": len(items), "sample_ids": items},
        "model": cell.model,
        "model_generate_config": {
            "temperature": temperature,
            **{key: settings[key] for key in SAMPLING if key in settings},
        },
        "model_args": {key: description.get(key) for key in ("source", "revision", "user_header")},
        "config": {"epochs": grid.n_samples(cell.temperature)},
        "metadata": {"identity": identity, "seed": grid.config["seed"]},
    }


def _sample(row: Mapping[str, Any], identity: str, when: str) -> dict[str, Any]:
    """Return a user turn, collected at the time `when`, as a sample without scores.

    Its `uuid` comes from cell, item and sample, not from the request's key: a turn that was never
    asked for has no key, and equal prompts of two cells have the same key.
    """
    name = fingerprint([identity, row["item"], row["sample"]])[:22]
    texts = [(m["role"], m["content"]) for m in row["messages"] or []]
    texts += [("assistant", row["answer"])] if row["answer"] is not None else []
    messages = [
        {"id": f"{name}-{number}", "role": role, "content": text}
        for number, (role, text) in enumerate([*texts, ("user", row["text"] or "")])
    ]
    output = _output(row, f"{name}-output")
    sample = {
        "id": row["item"],
        "epoch": row["sample"] + 1,
        "input": messages[:-1],
        "target": row["reference_answer"] or "",
        "messages": messages,
        "output": output,
        "model_usage": {row["model"]: output["usage"]},
        # The event of the model's call, from which Inspect takes a sample's messages.
        "events": [
            {
                "event": "model",
                "uuid": f"{name}-output-call",
                "timestamp": when,
                "working_start": 0,
                "model": row["model"],
                "input": messages[:-1],
                "tools": [],
                "tool_choice": "none",
                "config": {},
                "output": output,
            }
        ],
        "scores": {},
        "metadata": {key: row[key] for key in ("key", "prompt_text", "outcome", "error")},
        "uuid": name,
    }
    if row["outcome"] == "error":
        failure = dict.fromkeys(("traceback", "traceback_ansi"), "")
        sample["error"] = {"message": row["error"] or "", **failure}
    return sample


def _output(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    text, n_tokens = row["text"] or "", row["n_tokens"] or 0
    message = {"id": name, "role": "assistant", "content": text, "source": "generate"}
    stop = STOPS.get(row["finish_reason"] or "", "unknown")
    return {
        "model": row["model"],
        "choices": [{"message": message, "stop_reason": stop}],
        "completion": text,
        "usage": {"output_tokens": n_tokens, "total_tokens": n_tokens},
    }


def _results(grid: Grid, cell: Cell, n_turns: int) -> dict[str, Any]:
    scores = [
        {
            "name": row["judge"],
            "scorer": row["judge"],
            "scored_samples": row["n_scored"],
            "unscored_samples": row["n_turns"] - row["n_scored"],
            "metrics": {
                name: {"name": name, "value": row[column]}
                for name, column in (("mean", "estimate"), ("lower", "lower"), ("upper", "upper"))
                if row[column] is not None
            },
        }
        for row in read_rates(grid, cell)
    ]
    return {"total_samples": n_turns, "completed_samples": n_turns, "scores": scores}
