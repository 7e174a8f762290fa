"""What the tables of each rule are made from."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from userturn.study.inputs import RUBRIC

if TYPE_CHECKING:
    from userturn.workflow.tables import TableGrid

COMPARED_WITH_PAPER = (
    "rates",
    "accuracy",
    "families",
    "pooled_rates",
    "failure_profiles",
    "contrasts",
    "post_training",
)
# Made of all replies that cost anything, so that costs are counted after the last of them.
MADE_OF_REPLIES = ("rates", "accuracy", "chance_floor", "likelihood", "self_play", "answer_signals")
Inputs = dict[str, list[str]]  # files of each input, by the name that scripts and audit use


def files_of_tables(*names: str) -> Inputs:
    """Return the Parquet file of each table."""
    return {name: [f"results/tables/{name}.parquet"] for name in names}


def _of_cells(tables: "TableGrid") -> Inputs:
    return {
        "verdicts": tables.verdicts,
        "grades": tables.grades,
        **files_of_tables("judge_card"),
    }


def _of_people(tables: "TableGrid") -> Inputs:
    return {
        "user_turns": tables.user_turns,
        "verdicts": tables.verdicts,
        "annotations": tables.humans.annotations,
        "round_keys": tables.humans.keys,
        "blind": tables.humans.items,
        "rubric": [RUBRIC],
    }


def _of_controls(tables: "TableGrid") -> Inputs:
    controls = tables.controls
    return {"control_verdicts": controls.verdicts, "human_items": controls.human_items}


def _of_known_turns(tables: "TableGrid") -> Inputs:
    labelled = tables.labelled
    return {
        **_of_controls(tables),
        **_of_people(tables),
        "labelled_verdicts": labelled.verdicts,
        "labelled_items": labelled.items,
        "labelled_turns": labelled.user_turns,
    }


INPUTS: dict[str, Callable[["TableGrid"], Inputs]] = {
    "tabulate": lambda tables: {
        "summaries": tables.summaries,
        "grades": tables.grades,
        "answers": tables.answers,
    },
    "analyse": lambda tables: _of_cells(tables) | {"rubric": [RUBRIC]},
    "compare_with_margins": lambda tables: (
        _of_cells(tables) | files_of_tables("families", "decoupling", "item_association")
    ),
    "tabulate_controls": _of_controls,
    "measure_chance_floor": lambda tables: {
        "swapped_verdicts": tables.chance_floor.verdicts,
        "verdicts": tables.chance_floor.own_verdicts,
    },
    "measure_judges": _of_known_turns,
    "tabulate_likelihood": lambda tables: {
        "scores": tables.likelihood.scores,
        "user_turns": tables.user_turns,
        "verdicts": tables.verdicts,
        "annotations": tables.humans.annotations,
        "round_keys": tables.humans.keys,
    },
    "tabulate_turns": lambda tables: {
        "verdicts": tables.by_turn.verdicts,
    },
    "tabulate_languages": lambda tables: {
        "turn_languages": tables.languages.files,
        "user_turns": tables.languages.user_turns,
        "verdicts": tables.languages.verdicts,
        "grades": tables.languages.grades,
        "annotations": tables.humans.annotations,
        "round_keys": tables.humans.keys,
        **files_of_tables("families", "judge_card"),
    },
    "tabulate_self_play": lambda tables: {
        "conversations": tables.self_play.conversations,
        "user_turns": tables.self_play.user_turns,
        "verdicts": tables.self_play.verdicts,
        "scores": tables.self_play.scores,
    },
    "tabulate_pairs": lambda tables: tables.pairs.inputs,
    "measure_signals": lambda tables: tables.candidates.inputs,
    "tabulate_costs": lambda tables: (
        files_of_tables(*(name for name in MADE_OF_REPLIES if name in tables.names))
        | {"labelled_verdicts": tables.labelled.verdicts}
        | _of_controls(tables)
    ),
    "compare_with_paper": lambda _: files_of_tables(*COMPARED_WITH_PAPER, "judge_card"),
    "compare_with_people": _of_people,
    "measure_training_overlap": lambda tables: {
        "data": tables.training.data,
        "datasets": tables.training.evaluated,
    },
}
