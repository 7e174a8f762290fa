"""The rows of a file with verdicts, whatever its format: it is known by its content.

Rows of logs of Inspect, lm-eval and Every Eval Ever have `id`, `judge` and `verdict`, and where the
log says so `sample`, `model`, `dataset`.
"""

import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from userturn.datasets.rows import FOREIGN, GZIP, Row, Rows, read_rows
from userturn.errors import UserError
from userturn.storage.files import check_is_file, read_json

# Keys of an lm-eval sample that are no metrics. Before 0.4.5 it did not name its metrics.
OF_LM_EVAL = ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps")
ONLY_LATER = ("filter", "metrics", "doc_hash", "prompt_hash", "target_hash", "schema", "task_name")
SAMPLES = re.compile(r"samples_(?P<task>.+?)_\d{4}-\d\d-\d\dT.*")  # how lm-eval names its files


# Keys that identify a log of Inspect, a sample of lm-eval, and an instance of Every Eval Ever.
INSPECT, LM_EVAL = {"eval", "status"}, {"doc_id", "filtered_resps"}
EVERY_EVAL_EVER = {"schema_version", "sample_id", "evaluation"}


def inspect_rows(head: Mapping[str, Any], samples: Iterable[tuple[str, Row]]) -> Rows:
    """Yield a row for each sample and scorer of an Inspect log.

    A sample without a score, such as one that ended in an error, has no verdict. `head` is the
    log's `eval`.
    """
    scored = [(where, sample, _scores(sample)) for where, sample in samples]
    scorers = dict.fromkeys(name for *_, scores in scored for name in scores)
    of_log = {"model": head.get("model"), "dataset": head.get("task")}
    for where, sample, scores in scored:
        for name in scorers:
            of_sample = {"id": sample.get("id"), "sample": sample.get("epoch")}
            yield where, {**of_log, **of_sample, "judge": name, "verdict": scores.get(name)}


def _scores(sample: Row) -> dict[str, Any]:
    """Return a sample's scores by name, with one for each value of a score of several."""
    scores: dict[str, Any] = {}
    for name, score in (sample.get("scores") or {}).items():
        value = score.get("value") if isinstance(score, dict) else None
        if isinstance(value, dict):
            scores |= {f"{name}/{part}": one for part, one in value.items()}
        else:
            scores[name] = value
    return scores


def lm_eval_rows(path: Path, rows: Rows) -> Rows:
    """Yield a row for each sample and metric of lm-eval's log of a task.

    Where answers were extracted by several filters, a metric counts once per filter, under the name
    `metric,filter` as in lm-eval's results. Task and model are read from the names of file and
    folder.
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
    """Yield a row for each instance of Every Eval Ever, with its result's name as the judge.

    The score is the verdict, since `is_correct` is false where a score is neither yes nor no. The
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


ZIP = next(iter(FOREIGN))  # how a log of Inspect begins
ZSTD = 93
HEADS = ("header.json", "_journal/start.json")  # the second of a log that was not finished
EXPECTED = (
    "expected a table (CSV, JSON lines, Parquet), a log of Inspect (.eval or .json), samples of "
    "lm-eval (samples_*.jsonl) or rows of Every Eval Ever (*_samples.jsonl)"
)


def verdict_rows(path: Path) -> Rows:
    """Yield a file's rows with their places, or raise UserError if one cannot be read."""
    check_is_file(path, EXPECTED.removeprefix("expected "))
    with path.open("rb") as file:
        begin = file.read(4)
    if begin.startswith(ZIP):
        return _zipped_log(path)
    if path.suffix.lower() == ".json" and not begin.startswith((b"[", GZIP)):
        return _object(path, read_json(path))
    rows = read_rows(path)
    first = next(rows, None)
    if first is None:
        raise UserError(f"'{path}' has no rows; {EXPECTED}")
    everything = chain([first], rows)
    if first[1].keys() >= LM_EVAL:
        return lm_eval_rows(path, everything)
    is_ever = first[1].keys() >= EVERY_EVAL_EVER
    return every_eval_ever_rows(everything) if is_ever else everything


def _object(path: Path, content: Row) -> Rows:
    """Yield the rows of one JSON object: a log of Inspect, or a summary of Every Eval Ever."""
    if content.keys() >= INSPECT:
        samples = enumerate(content.get("samples") or [], start=1)
        return inspect_rows(content["eval"], ((f"{path}, sample {n}", one) for n, one in samples))
    if "evaluation_results" in content:
        details = content.get("detailed_evaluation_results") or {}
        beside = path.with_name(Path(str(details.get("file_path"))).name)
        if beside.is_file() and beside != path:
            return verdict_rows(beside)
        raise UserError(
            f"'{path}' has the results of Every Eval Ever without their rows; give the file that "
            "it names under detailed_evaluation_results, *_samples.jsonl"
        )
    raise UserError(f"'{path}' is an object of an unknown kind; {EXPECTED}")


def _zipped_log(path: Path) -> Rows:
    try:
        with ZipFile(path) as log:
            names = log.namelist()
            head = next((name for name in HEADS if name in names), None)
            if head is None:
                raise UserError(f"'{path}' is a zip archive, but no log of Inspect; {EXPECTED}")
            samples = list(
                _samples(path, log, sorted(n for n in names if n.startswith("samples/")))
            )
            return inspect_rows(json.loads(member_bytes(log, log.getinfo(head)))["eval"], samples)
    except (BadZipFile, NotImplementedError, ValueError, KeyError) as error:
        raise UserError(
            f"'{path}' cannot be read as a log of Inspect ({error}); "
            "`inspect log convert --to json` writes it as JSON, which is read, too"
        ) from error


def _samples(path: Path, log: ZipFile, names: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the samples of a log without their messages, which may be many."""
    for name in names:
        sample = json.loads(member_bytes(log, log.getinfo(name)))
        yield f"{path}, {name}", {key: sample.get(key) for key in ("id", "epoch", "scores")}


def member_bytes(log: ZipFile, member: ZipInfo) -> bytes:
    """Return a member's bytes, also if packed by zstd, which Python 3.13 cannot unpack."""
    if member.compress_type != ZSTD:
        return log.read(member)
    import pyarrow as pa

    file = log.fp
    assert file is not None
    file.seek(member.header_offset + 26)
    file.seek(sum(struct.unpack("<HH", file.read(4))), 1)  # past its name and extra field
    return bytes(
        pa.decompress(file.read(member.compress_size), member.file_size, "zstd", asbytes=True)
    )
