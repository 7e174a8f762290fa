"""Every input of every table, of a study that nobody ran: what `synthetic_study` has, and the rest.

Turns, answers, controls, swapped answers, and people's labels of a drawn round.
"""

from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree
from typing import Any

import polars as pl

from tests.support.made_up_results import made_up_config, save
from tests.support.snakemake_runs import ROOT
from tests.support.synthetic_study import GRADED, write_study
from userturn.config.families import families
from userturn.controls.control_turn import LABELS as CONTROLS
from userturn.datasets.language import TOO_SHORT
from userturn.endpoints.budget import SLOT
from userturn.endpoints.usage import Spent
from userturn.generation.scorer import ASSISTANT_HEADER, OTHER_ANSWER, OTHER_CONVERSATION, OWN
from userturn.generation.scores import SCORES_SCHEMA
from userturn.generation.turn_languages import LANGUAGES_SCHEMA
from userturn.humans.import_labels import ANNOTATIONS_SCHEMA
from userturn.humans.rounds import ITEMS_SCHEMA, draw, keyed
from userturn.humans.rounds import KEY_SCHEMA as ROUND_KEY
from userturn.humans.sample import mark_drawn, quota, sampling_frame
from userturn.storage.journal import encode_line
from userturn.storage.table_files import TURN_KEYS
from userturn.study.grid import Grid
from userturn.workflow.registry import Figure, Table

DATASETS = {"gsm8k": 39, "math500": 25, "ifbench": 21, "healthbench": 19, "coval": 13}
MODELS = ["qwen3.5-0.8b", "qwen3.5-2b", "qwen3.5-4b", "gpt-oss-20b", "qwen3.5-2b-sft"]
JUDGES = ("heuristic", "other", "third")
SCORED = ["qwen3.5-0.8b", "qwen3.5-2b"]  # models whose likelihoods there are, of one family
PERTURBED = {
    "t0": ["qwen3.5-0.8b", "gpt-oss-20b"]
}  # by temperature, the models that ran under `truncate`
# Made of turns beside the cells, pairs, an embedder, checkpoints or controls: this study has none.
BESIDE = (
    *("measure_signals", "draw_signals", "tabulate_self_play", "draw_self_play"),
    *("tabulate_pairs", "draw_human_likeness", "tabulate_crossed", "tabulate_similarity"),
    *("tabulate_curve", "tabulate_unseen"),
)
FILES = {  # where each input of a table lies
    "verdicts": "cells/*/*/*/*/verdicts/*.parquet",
    "user_turns": "cells/*/*/*/*/user_turns.parquet",
    "grades": "grades/*/*.parquet",
    "answers": "answers/*/*.parquet",
    "control_verdicts": "controls/*.parquet",
    "human_items": "datasets/*.parquet",
    "swapped_verdicts": "swapped/*.parquet",
    "unswapped_verdicts": "cells/*/*/*/*/verdicts/*.parquet",
    "edited_verdicts": "swapped/*.parquet",  # for a table that has both, one is like the other
    "unedited_verdicts": "cells/*/*/*/*/verdicts/*.parquet",
    "conversation_verdicts": "cells/*/*/*/*/verdicts/*.parquet",
    "labelled_verdicts": "labelled/verdicts/*.parquet",
    "labelled_items": "labelled/items.parquet",
    "labelled_turns": "labelled/user_turns.parquet",
    "round_keys": "humans/key.parquet",
    "annotations": "humans/annotations.parquet",
    "scores": "likelihood/*/*/*.parquet",
    "turn_languages": "languages/*/*.parquet",
    "evaluated_items": "prepared/*.parquet",
    "prepared_items": "items/*.parquet",
    "training_data": "training/*/data.parquet",
}


def made_of_cells(registry: Mapping[str, Table | Figure]) -> list[str]:
    """Return the names of the tables or figures that the study has."""
    return [name for name, one in registry.items() if one.rule not in BESIDE]


def whole_grid(results: Path = Path("results")) -> Grid:
    """Return the grid of the study, over the results in a folder."""
    config = made_up_config(MODELS, list(DATASETS), (0.0, 0.7), ("none", "truncate"), JUDGES)
    config["models"]["qwen3.5-2b-sft"] = {"source": "made/up", "base": "qwen3.5-2b"}
    config["statistics"]["resamples"] = 100
    return Grid(config, results)


def inputs_in(folder: Path) -> dict[str, list[str]]:
    """Return the paths of all inputs, in whatever order the file system has them."""
    found = {name: [str(path) for path in folder.glob(glob)] for name, glob in FILES.items()}
    return found | {"rubric": [str(ROOT / "data" / "rubric.yaml")]}


def write_whole_study(folder: Path) -> None:
    """Write the study."""
    write_study(folder, MODELS, DATASETS, (0.0, 0.7), ("none", "truncate"), JUDGES, n_samples=2)
    turns, verdicts = [], []
    for cell in sorted(folder.glob("cells/*/*/*/*")):
        if _is_left_out(cell):
            rmtree(cell)
            continue
        tables = [pl.read_parquet(path) for path in sorted(cell.glob("verdicts/*.parquet"))]
        turns.append(_turns(tables[0]))
        verdicts += tables
        save(turns[-1], cell / "user_turns.parquet")
    for path in folder.glob("grades/*/*.parquet"):
        cut = pl.int_range(pl.len()) % 3 == 0
        ends = pl.when(cut).then(pl.lit("length")).otherwise(pl.lit("stop"))
        answers = pl.read_parquet(path).select("model", "dataset", "item", finish_reason=ends)
        save(answers, folder / "answers" / path.parent.name / path.name)
    _write_items(folder)
    _write_controls(folder, pl.concat(verdicts))
    _write_labelled(folder, pl.concat(verdicts))
    _write_round(folder, pl.concat(turns), pl.concat(verdicts))
    _write_scores(folder, pl.concat(verdicts))
    _write_languages(folder, pl.concat(verdicts))
    _write_training_data(folder)
    _write_accounts(folder)


def _write_items(folder: Path) -> None:
    """Write the items of each dataset, each with messages of its own."""
    for path in folder.glob(f"grades/{MODELS[0]}/*.parquet"):
        items = pl.read_parquet(path, columns=["item"]).unique().sort("item")
        said = pl.concat_list(pl.struct(role=pl.lit("user"), content=pl.col("item")))
        more = {
            "messages": said,
            "reference_context": pl.lit(
                None, pl.List(pl.Struct({"role": pl.String, "content": pl.String}))
            ),
            "reference_user_turn": pl.lit(None, pl.String),
        }
        save(items.with_columns(**more), folder / "items" / path.name)


def _is_left_out(cell: Path) -> bool:
    """Return whether a cell did not run, as in a study that was begun: tables take their time."""
    model, dataset, temperature, perturbation = cell.parts[-4:]
    if model == "qwen3.5-2b-sft" and dataset not in GRADED:
        return True
    return perturbation != "none" and model not in PERTURBED.get(temperature, [])


def _turns(verdicts: pl.DataFrame) -> pl.DataFrame:
    return verdicts.select(
        *TURN_KEYS,
        key=pl.concat_str(TURN_KEYS, separator=" "),
        outcome=pl.lit("ok"),
        text=pl.format("And what about {}?", pl.col("item").str.slice(-1)),
        finish_reason=pl.lit("stop"),
        n_tokens=pl.lit(6, pl.UInt32),
    )


def _write_controls(folder: Path, verdicts: pl.DataFrame) -> None:
    """Write verdicts on human turns, two a conversation, planted failures and swapped answers."""
    plain = verdicts.filter(pl.col("perturbation") == "none", pl.col("temperature") == 0)
    items = plain["item"].unique().sort()
    kinds = [kind for kind in CONTROLS if kind != "human"]
    for judge in JUDGES:
        of_judge = plain.filter(pl.col("judge") == judge)
        planted = [of_judge.with_columns(perturbation=pl.lit(kind)) for kind in kinds]
        human = of_judge.filter(pl.col("model") == MODELS[0]).with_columns(
            model=pl.lit("human"), dataset=pl.lit("talks"), perturbation=pl.lit("human")
        )
        save(pl.concat([*planted, human]), folder / "controls" / f"{judge}.parquet")
        swapped = verdicts.filter(pl.col("judge") == judge).with_columns(
            pl.col("genuine").reverse()
        )
        save(swapped, folder / "swapped" / f"{judge}.parquet")
    begun = [[{"role": "user", "content": f"talk {i // 2}"}] for i in range(len(items))]
    answered = [[*said, {"role": "assistant", "content": "It does."}] for said in begun]
    talks = {"item": items, "messages": begun, "reference_context": answered}
    talks["reference_user_turn"] = [f"Does {item[-1]} too?" for item in items]
    save(pl.DataFrame(talks), folder / "datasets" / "talks.parquet")


def _write_labelled(folder: Path, verdicts: pl.DataFrame) -> None:
    """Write verdicts on turns whose labels are known: here those that the second judge gave."""
    plain = verdicts.filter(pl.col("dataset") == "gsm8k", pl.col("model") == MODELS[0])
    plain = plain.filter(pl.col("perturbation") == "none", pl.col("temperature") == 0)
    for judge in JUDGES:
        path = folder / "labelled" / "verdicts" / f"{judge}.parquet"
        save(plain.filter(pl.col("judge") == judge), path)
    known = plain.filter(pl.col("judge") == JUDGES[1], pl.col("label").is_not_null())
    talk = pl.format("talk {}", pl.col("index") // 2)
    talks = known.with_row_index().select("item", "label", conversation=talk, language=pl.lit("en"))
    save(talks, folder / "labelled" / "items.parquet")
    texts = plain.select("item").unique(maintain_order=True).with_columns(text=pl.col("item"))
    save(texts, folder / "labelled" / "user_turns.parquet")


def _write_round(folder: Path, turns: pl.DataFrame, verdicts: pl.DataFrame) -> None:
    """Write a round drawn by the first judge, and what a person and a half said of it."""
    first = verdicts.filter(pl.col("judge") == JUDGES[0])
    sample = mark_drawn(sampling_frame(turns, first, 1), quota({"per_stratum": 1, "genuine": 3}))
    of_model: dict[str, Any] = {n: found[0] for n, *found in families(whole_grid().models)}
    key = keyed(
        draw(sample, pl.DataFrame(schema=ROUND_KEY), of_model, 10, 1), "first", JUDGES[0], 1
    )
    save(key.select(pl.col(n).cast(t) for n, t in ROUND_KEY.items()), folder / "humans/key.parquet")
    label = pl.when(pl.col("stratum") == "unscored").then(pl.lit("generic")).otherwise("stratum")
    labels = [
        key.gather_every(step).with_columns(
            annotator=pl.lit(name), label=label.shift(shift).fill_null("generic")
        )
        for name, step, shift in (("a", 1, 0), ("b", 2, 1))
    ]
    said = pl.concat(labels).with_columns(
        genuine=pl.col("label") == "genuine_followup", notes=pl.lit("")
    )
    saying = said.select(pl.col(n).cast(t) for n, t in ANNOTATIONS_SCHEMA.items())
    save(saying, folder / "humans" / "annotations.parquet")
    rows = [{"id": i, "conversation": [{"role": "user", "text": i}], "turn": i} for i in key["id"]]
    save(pl.DataFrame(rows, schema=ITEMS_SCHEMA), folder / "humans" / "items.parquet")


def _write_scores(folder: Path, verdicts: pl.DataFrame) -> None:
    """Write scores of models' own turns and of reference follow-ups, with errors of two kinds."""
    own = verdicts.filter(pl.col("judge") == JUDGES[0], pl.col("model").is_in(SCORED))
    for (model, dataset), turns in sorted(own.group_by("model", "dataset")):
        for kind, scored in (("own_turns", turns), ("human_turns", _asked_once(turns))):
            path = folder / "likelihood" / str(model) / str(dataset) / f"{kind}.parquet"
            save(_scores(scored), path)


def _asked_once(turns: pl.DataFrame) -> pl.DataFrame:
    return turns.unique("item", keep="first", maintain_order=True).with_columns(
        temperature=pl.lit(None, pl.Float64),
        perturbation=pl.lit(None, pl.String),
        sample=pl.lit(None, pl.Int64),
    )


def _scores(turns: pl.DataFrame) -> pl.DataFrame:
    """Return a score of each turn after each kind of context; every ninth turn has an error."""
    contexts = [OWN, *[OTHER_ANSWER] * 3, OTHER_CONVERSATION, ASSISTANT_HEADER]
    rows = turns.with_row_index().with_columns(
        conversation=pl.col("item").str.slice(-1),
        context=pl.lit(contexts),
        n_tokens=pl.col("index") % 7 + 3,
        n_characters=pl.col("index") % 11 + 20,
        error=pl.when(pl.col("index") % 9 == 0).then(pl.format("reason {}", pl.col("index") % 2)),
    )
    rows = rows.explode("context").with_row_index("place")
    made_up = pl.col("place") * (7919 + pl.col("model").str.len_chars()) % 997 / -37
    score = pl.when(pl.col("error").is_null()).then(made_up)
    rows = rows.with_columns(logprob=score)
    given = [
        pl.col(name).cast(kind) for name, kind in SCORES_SCHEMA.items() if name in rows.columns
    ]
    return pl.concat([pl.DataFrame(schema=SCORES_SCHEMA), rows.select(given)], how="diagonal")


def _write_languages(folder: Path, verdicts: pl.DataFrame) -> None:
    """Write the languages of all turns: two items have one problem, in English and in German."""
    turns = verdicts.filter(pl.col("judge") == JUDGES[0]).select(TURN_KEYS)
    place = pl.col("item").rank("dense") - 1
    told = turns.with_columns(place=place.over("dataset")).with_columns(
        problem=(pl.col("place") // 2).cast(pl.String),
        prompt_language=pl.when(pl.col("place") % 2 == 0)
        .then(pl.lit("en"))
        .otherwise(pl.lit("de")),
        answer_language=pl.lit("en"),
        shown_language=pl.lit("en"),
        turn_language=pl.when(pl.col("place") % 3 > 0).then(pl.lit("en")),
        turn_reason=pl.when(pl.col("place") % 3 == 0).then(pl.lit(TOO_SHORT)),
    )
    table = told.with_columns(
        prompt_reason=None,
        answer_reason=None,
        shown_reason=None,
        answered_in_another=pl.col("answer_language") != pl.col("prompt_language"),
        turned_in_another=pl.col("turn_language") != pl.col("prompt_language"),
        turned_unlike_answer=pl.col("turn_language") != pl.col("shown_language"),
    ).select(pl.col(name).cast(kind) for name, kind in LANGUAGES_SCHEMA.items())
    for (model, dataset), part in table.partition_by("model", "dataset", as_dict=True).items():
        save(part, folder / "languages" / f"{model}" / f"{dataset}.parquet")


def with_no_reference(messages: list[list[dict[str, str]]]) -> pl.DataFrame:
    """Return conversations without a goal or an answer."""
    nothing = [pl.lit(None, pl.String).alias(name) for name in ("goal", "reference_answer")]
    return pl.DataFrame({"messages": messages}).with_columns(nothing)


def _write_training_data(folder: Path) -> None:
    """Write items of two datasets, and a model's training data, which has some of them."""
    said = [f"question number {i} about apples, pears and how many there are" for i in range(20)]
    for name, texts in (("gsm8k", said[:12]), ("math500", said[8:])):
        messages = [[{"role": "user", "content": text}] for text in texts]
        save(with_no_reference(messages), folder / "prepared" / f"{name}.parquet")
    learnt = [[{"role": "user", "content": text}] for text in said[::3]]
    path = folder / "training" / "qwen3.5-2b-sft" / "data.parquet"
    save(with_no_reference(learnt), path)


def _write_accounts(folder: Path) -> None:
    """Write what three judges spent in several processes, at prices whose sums are not exact."""
    for number, judge in enumerate(JUDGES * 3):
        spent = Spent(number, 0, number, 1000 + number, 7, 100, seconds=number / 10)
        record = {
            "number": 1,
            "judge": judge,
            "cell": f"cell {number % 2}",
            "spent": vars(spent),
            "in_flight": vars(Spent()),
            "allowance": 0.0,
            "price": {"input": 0.1 * number, "output": 0.3},
        }
        path = folder / "journal" / "costs" / judge / f"{number}.account"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b" " * SLOT + encode_line(record).rjust(SLOT, b" "))
