"""Edits of the finished study of `probed_study`, each with what a user would call it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.probed_study import NAMELESS, PROBLEMS, Edit, Study, rows_of, write_rows
from tests.support.tiny_model import write_tiny_model

EDITS: dict[str, tuple[Edit, ...]] = {}


def edit(name: str, *earlier: Edit) -> Callable[[Edit], Edit]:
    """Name an edit; earlier ones are made and swept before it."""

    def named(last: Edit) -> Edit:
        EDITS[name] = (*earlier, last)
        return last

    return named


def rows(file: str, change: Callable[[list[dict[str, Any]]], object]) -> Edit:
    """Return an edit of the rows of a file."""

    def edited(folder: Path, study: Study) -> None:
        found = rows_of(folder, file)
        change(found)
        write_rows(folder, file, found)

    return edited


def setting(path: str, value: Any) -> Edit:
    """Return an edit of one setting, by its keys with dots between; None leaves it out."""

    def edited(folder: Path, study: Study) -> None:
        *parents, last = path.split(".")
        part: Any = study
        for key in parents:
            part = part.setdefault(key, {})
        if value is None:
            del part[last]
        else:
            part[last] = value

    return edited


def both(*edits: Edit) -> Edit:
    """Return several edits as one."""

    def edited(folder: Path, study: Study) -> None:
        for one in edits:
            one(folder, study)

    return edited


def renamed(kind: str, old: str, new: str) -> Edit:
    """Return the edit that gives an entry of the configuration another name."""

    def edited(folder: Path, study: Study) -> None:
        study[kind][new] = study[kind].pop(old)
        study["run"][kind] = [new if name == old else name for name in study["run"][kind]]
        if kind == "judges":
            study["primary_judge"] = new
        if kind == "datasets":
            played = study["self_play"]["datasets"]
            study["self_play"]["datasets"] = [new if name == old else name for name in played]

    return edited


def lost(*globs: str) -> Edit:
    """Return the edit that deletes files and folders."""

    def edited(folder: Path, study: Study) -> None:
        for glob in globs:
            found = list(folder.glob(glob))
            assert found, glob
            for path in found:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    return edited


def named(row: dict[str, Any], key: str, value: Any) -> None:
    """Change a value of a row."""
    row[key] = value


def inside(change: Callable[[dict[str, Any]], object]) -> Edit:
    """Return an edit of a row that the limit leaves in, chosen by the study's prepared items."""
    return _row(change, True)


def outside(change: Callable[[dict[str, Any]], object]) -> Edit:
    """Return an edit of a row that the limit leaves out."""
    return _row(change, False)


def _row(change: Callable[[dict[str, Any]], object], is_in: bool) -> Edit:
    def edited(folder: Path, study: Study) -> None:
        import polars as pl

        items = pl.read_parquet(folder / "results/datasets/problems.parquet")["item"].to_list()
        found = rows_of(folder, PROBLEMS)
        change(next(row for row in found if (row["id"] in items) == is_in))
        write_rows(folder, PROBLEMS, found)

    return edited


def asks_otherwise(row: dict[str, Any]) -> None:
    """Change a row's question."""
    row["question"] += " Explain it."


def written(file: str, change: Callable[[bytes], bytes]) -> Edit:
    """Return an edit of the bytes of a file."""

    def edited(folder: Path, study: Study) -> None:
        path = folder / file
        before = path.read_bytes()
        path.write_bytes(change(before))
        assert path.read_bytes() != before

    return edited


def other_weights(folder: Path, study: Study) -> None:
    """Write other weights, and keep the first beside them."""
    (folder / "models/tiny").rename(folder / "kept")
    write_tiny_model(folder / "models/tiny", seed=7, width=8)


def first_weights(folder: Path, study: Study) -> None:
    """Put the first weights back."""
    shutil.rmtree(folder / "models/tiny")
    (folder / "kept").rename(folder / "models/tiny")


def swapped(folder: Path, study: Study) -> None:
    """Swap the names of the two datasets."""
    entries = study["datasets"]
    entries["problems"], entries["nameless"] = entries["nameless"], entries["problems"]
    study["self_play"]["datasets"] = ["nameless"]


def twin(folder: Path, study: Study) -> None:
    """Add a second entry of one content."""
    study["datasets"]["again"] = dict(study["datasets"]["nameless"])
    study["run"]["datasets"] = ["problems", "nameless", "again"]


def key_order(folder: Path, study: Study) -> None:
    """Reverse the order of all keys."""

    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return value

    again = turned(study)
    study.clear()
    study.update(again)


def reformatted_model(folder: Path, study: Study) -> None:
    """Write the model's JSON with other spaces, add a README and a remark in its template."""
    model = folder / "models/tiny"
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config, sort_keys=True))
    (model / "README.md").write_text("A model.\n")


def third_of_journal(folder: Path, study: Study) -> None:
    """Lose every third line of the journals, and all tables."""
    for path in sorted((folder / "results/journal/tiny").rglob("*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(line for n, line in enumerate(lines) if n % 3))
    lost(*TABLES)(folder, study)


TABLES = ("results/answers", "results/cells", "results/self_play", "results/candidates")
CELL = "results/cells/tiny/problems/t0/none"
TWO_SHARDS = setting("models.tiny.shards", 2)
TRUNCATE = setting("run.perturbations", ["none", "shuffled_answer", "truncate"])
LONGER = setting("models.tiny.max_model_len", 4096)
SHORTER = setting("models.tiny.max_model_len", 300)
MODEL_LEN = setting("models.tiny.max_model_len", 1024)
NO_CHANGE: Edit = both()

edit("nothing")(NO_CHANGE)
edit("keys of the configuration in another order")(key_order)
edit("reference answer of a row with an id mended")(inside(lambda row: named(row, "answer", "999")))
edit("reference answer of a row without an id mended")(
    rows(NAMELESS, lambda found: named(found[1], "answer", "999"))
)
edit("question of a row with an id edited")(inside(asks_otherwise))
edit("question of a row without an id edited")(
    rows(NAMELESS, lambda found: asks_otherwise(found[1]))
)
edit("row outside `limit` edited")(outside(asks_otherwise))
edit("`limit` 4 to 3")(setting("datasets.problems.limit", 3))
edit("`limit` 4 to 5")(setting("datasets.problems.limit", 5))
edit("`limit` 4 to 3 and back", setting("datasets.problems.limit", 3))(
    setting("datasets.problems.limit", 4)
)
edit("line ends of Windows")(written(PROBLEMS, lambda text: text.replace(b"\n", b"\r\n")))
edit("byte order mark")(written(PROBLEMS, lambda text: b"\xef\xbb\xbf" + text))
edit("rows in another order")(rows(PROBLEMS, lambda found: found.reverse()))
edit("a column more")(rows(PROBLEMS, lambda found: [named(row, "note", "x") for row in found]))
edit("a row more")(
    rows(NAMELESS, lambda found: found.append({"question": "How many are 2 and 2?", "answer": "4"}))
)
edit("a row less")(rows(NAMELESS, lambda found: found.pop()))
edit("a row twice")(rows(NAMELESS, lambda found: found.append(found[0])))
edit("id of a row renamed")(inside(lambda row: named(row, "id", "other")))
edit("`samples` 2 to 1")(setting("samples", 1))
edit("`samples` 2 to 3")(setting("samples", 3))
edit("`answer.samples` 2 to 3")(setting("answer.samples", 3))
edit("`answer.samples` off")(setting("answer.samples", 1))
edit("`self_play.turns` 2 to 3")(setting("self_play.turns", 3))
edit("self-play off")(setting("self_play", None))
edit("`likelihood.turns` 1 to 2")(setting("likelihood.turns", 2))
edit("`likelihood.distractors` 1 to 2")(setting("likelihood.distractors", 2))
edit("likelihood off")(setting("likelihood", False))
edit("a temperature more")(setting("run.temperatures", [0, 0.7, 1.0]))
edit("a temperature less")(setting("run.temperatures", [0]))
edit("a perturbation more")(TRUNCATE)
edit("a perturbation's setting changed", TRUNCATE)(setting("perturbations.truncate.keep", 0.3))
edit("`user_turn.max_tokens` changed")(setting("user_turn.max_tokens", 70))
edit("`answer.max_tokens` changed")(setting("answer.max_tokens", 110))
edit("seed changed")(setting("seed", 5))
edit("weights changed")(other_weights)
edit("weights changed and put back", other_weights)(first_weights)
edit("`max_model_len` 1024 to 300")(SHORTER)
edit("`max_model_len` 1024 to 4096")(LONGER)
edit("`max_model_len` 1024 to 300 and back", SHORTER)(MODEL_LEN)
edit("model folder reformatted, a README more")(reformatted_model)
edit("`today` changed, which the template ignores")(setting("today", "2027-01-01"))
edit("`enable_thinking`, which the template ignores")(setting("models.tiny.enable_thinking", True))
edit("`template_options`, which the template ignores")(
    setting("models.tiny.template_options", {"reasoning_effort": "low"})
)
edit("`trust_remote_code`, where there is none")(setting("models.tiny.trust_remote_code", True))
edit("shards 1 to 2")(TWO_SHARDS)
edit("dataset renamed")(renamed("datasets", "problems", "sums"))
edit("model renamed")(renamed("models", "tiny", "small"))
edit("judge renamed")(renamed("judges", "server", "other"))
edit("names of two datasets swapped")(swapped)
edit("dataset renamed and a question edited")(
    both(inside(asks_otherwise), renamed("datasets", "problems", "sums"))
)
edit("dataset renamed, a question edited, and a temperature more")(
    both(
        inside(asks_otherwise),
        renamed("datasets", "problems", "sums"),
        setting("run.temperatures", [0, 0.7, 1.0]),
    )
)
edit("model renamed and a temperature more")(
    both(renamed("models", "tiny", "small"), setting("run.temperatures", [0, 0.7, 1.0]))
)
edit("a second entry of one content")(twin)
edit("one cell lost")(lost(f"{CELL}/user_turns.parquet"))
edit("answers lost")(lost("results/answers"))
edit("all tables lost")(lost(*TABLES))
edit("request tables lost")(lost("results/requests"))
edit("request tables and a cell lost")(lost("results/requests", f"{CELL}/user_turns.parquet"))
edit("only the journal kept")(lost("results/[!j]*", ".snakemake"))
edit("a third of the journal lost, with all tables")(third_of_journal)
edit("verdicts lost")(lost(f"{CELL}/verdicts"))
edit("judge's setting changed")(setting("judges.server.settings.max_tokens", 90))
edit("judge's pace changed")(setting("judges.server.concurrency", 2))
edit("a dataset less")(both(setting("run.datasets", ["problems"])))


def goes_on_to_judges(name: str) -> bool:
    """Return whether what an edit asks of judges is measured too."""
    return any(word in name for word in ("judge", "rename", "lost", "kept"))
