"""What the rules of tables are made from: their inputs, by the name that scripts and audit use."""

from collections.abc import Callable
from operator import attrgetter

from userturn.study.inputs import RUBRIC
from userturn.workflow.registry import FIGURES, IDENTITIES, figures_of
from userturn.workflow.study import Study

Inputs = dict[str, list[str]]
COMPARED_WITH_PAPER = (
    "rates",
    "accuracy",
    "families",
    "pooled_rates",
    "failure_profiles",
    "contrasts",
    "post_training",
)


def _of_tables(*names: str) -> Inputs:
    return {name: [f"results/tables/{name}.parquet"] for name in names}


def _of_people(study: Study) -> Inputs:
    return {
        "user_turns": study.all_user_turns,
        "verdicts": study.all_verdicts,
        "annotations": study.humans.annotations,
        "round_keys": study.humans.keys,
        "blind": study.humans.items,
        "rubric": [RUBRIC],
    }


def _of_controls(study: Study) -> Inputs:
    human = [f"results/datasets/{name}.parquet" for name in sorted(study.grid.human_datasets)]
    return {"control_verdicts": study.controls.verdicts, "human_items": human}


INPUTS: dict[str, Callable[[Study], Inputs]] = {
    "tabulate": lambda study: {"summaries": study.summaries, "grades": study.grades},
    "analyse": lambda study: {"verdicts": study.all_verdicts, "grades": study.grades},
    "compare_with_margins": lambda study: {
        "verdicts": study.all_verdicts,
        "grades": study.grades,
        **_of_tables("families", "decoupling", "item_association"),
    },
    "tabulate_controls": _of_controls,
    "tabulate_costs": lambda study: _of_tables("rates") | _of_controls(study),
    "compare_with_paper": lambda _: _of_tables(*COMPARED_WITH_PAPER),
    "compare_with_people": _of_people,
}


def inputs_of(study: Study, rule: str) -> Inputs:
    """Return the inputs of a rule that makes tables."""
    return INPUTS[rule](study)


def tables_drawn(rule: str) -> Inputs:
    """Return the tables that the figures of a rule are drawn from."""
    drawn = {table for name in figures_of(rule) for table in FIGURES[name].tables}
    return _of_tables(*sorted(drawn | {"families"}))


def identity_of(study: Study, rule: str) -> str:
    """Return the identity that the tables or figures of a rule carry."""
    return str(attrgetter(IDENTITIES[rule])(study))
