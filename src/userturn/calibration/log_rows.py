"""Rows of verdicts from logs of Inspect, lm-eval and Every Eval Ever.

Each row has `id`, `judge` and `verdict`, and where the log says so `sample`, `model`, `dataset`.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from userturn.datasets.rows import Row, Rows

# What a sample of lm-eval has besides its metrics; before 0.4.5 it did not say which these are.
OF_LM_EVAL = ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps")
ONLY_LATER = ("filter", "metrics", "doc_hash", "prompt_hash", "target_hash", "schema", "task_name")
SAMPLES = re.compile(r"samples_(?P<task>.+?)_\d{4}-\d\d-\d\dT.*")  # how lm-eval names its files


def is_inspect(content: Mapping[str, Any]) -> bool:
    """Tell whether an object is a log of Inspect."""
    return {"eval", "status"} <= content.keys()


def is_lm_eval(row: Mapping[str, Any]) -> bool:
    """Tell whether a row is a sample of lm-eval."""
    return {"doc_id", "filtered_resps"} <= row.keys()


def is_every_eval_ever(row: Mapping[str, Any]) -> bool:
    """Tell whether a row is of Every Eval Ever, at the level of instances."""
    return {"schema_version", "sample_id", "evaluation"} <= row.keys()


def inspect_rows(head: Mapping[str, Any], samples: Iterable[tuple[str, Row]]) -> Rows:
    """Yield a row for each sample and scorer of an Inspect log.

    A sample without a score of a scorer, as one that ended in an error, has no verdict of it.

    Args:
        head: the log's `eval`.
        samples: its samples with their places.
    """
    kept = [(where, sample, _scores(sample)) for where, sample in samples]
    scorers = dict.fromkeys(name for *_, scores in kept for name in scores)
    of_log = {"model": head.get("model"), "dataset": head.get("task")}
    for where, sample, scores in kept:
        for name in scorers:
            of_sample = {"id": sample.get("id"), "sample": sample.get("epoch")}
            yield where, {**of_log, **of_sample, "judge": name, "verdict": scores.get(name)}


def _scores(sample: Row) -> dict[str, Any]:
    """Return the values of a sample's scores; a score of several values has one for each."""
    found: dict[str, Any] = {}
    for name, score in (sample.get("scores") or {}).items():
        value = score.get("value") if isinstance(score, dict) else None
        if isinstance(value, dict):
            found |= {f"{name}/{part}": one for part, one in value.items()}
        else:
            found[name] = value
    return found


def lm_eval_rows(path: Path, rows: Rows) -> Rows:
    """Yield a row for each sample and metric of lm-eval's log of a task.

    A metric of answers that were extracted in several ways is one for each filter, named
    `metric,filter` as in lm-eval's results. Task and model are those of the file's name and folder.
    """
    named = SAMPLES.fullmatch(path.stem)
    of_file = {
        "dataset": named["task"] if named else path.stem,
        "model": path.parent.name.replace("__", "/") if named else None,
    }
    for where, row in rows:
        others = row.keys() - {*OF_LM_EVAL, *ONLY_LATER}
        extracted = row.get("filter") not in (None, "none")
        for metric in row.get("metrics") or sorted(others):
            judge = f"{metric},{row['filter']}" if extracted else metric
            of_row = {"id": row["doc_id"], "judge": judge, "verdict": row.get(metric)}
            yield where, {**of_file, **of_row}


def every_eval_ever_rows(rows: Rows) -> Rows:
    """Yield a row for each instance of Every Eval Ever; its result names the judge.

    The score is the verdict, since `is_correct` is false where a score is no yes or no. The
    dataset is what stands before the model in `evaluation_id`.
    """
    for where, row in rows:
        model, name = str(row.get("model_id")), row.get("evaluation_name")
        before, is_there, _ = str(row.get("evaluation_id")).partition(f"/{model}/")
        score = None if row.get("error") else (row["evaluation"] or {}).get("score")
        details = row.get("metadata") or {}
        of_run = {"model": model, "dataset": before if is_there else name, "evaluation_name": name}
        of_row = {"id": row["sample_id"], "sample": details.get("sample")}
        judge = row.get("evaluation_result_id") or name
        yield where, {**of_run, **of_row, "judge": judge, "verdict": score}
