"""The error for a target that no rule makes names the rule or file that was meant."""

import logging
import re
from typing import Any

from userturn.errors import near_miss
from userturn.workflow.study import Study, asked_for

NOTHING_MAKES = re.compile(r"No rule to produce (.+?) \(if you use input functions")
SNAKEMAKE = "snakemake.logging"  # the logger of Snakemake


def nearest_target(target: str, study: Study, rules: list[str]) -> str:
    """Return the error for a target that no rule makes, with the nearest name."""
    near = near_miss(target, asked_for(study) if "/" in target else rules)
    if near.startswith(";"):
        near = "; `snakemake --list` has the rules, and results/README.md the files"
    return f"error: no rule is called '{target}' or makes such a file{near}"


class NearestTarget(logging.Filter):
    """A filter that replaces Snakemake's own message by that of `nearest_target`."""

    def __init__(self, study: Study, workflow: Any) -> None:
        """Take the study and the workflow, whose rules are defined later."""
        super().__init__()
        self.study, self.workflow = study, workflow

    def filter(self, record: logging.LogRecord) -> bool:
        """Pass every message on, and reword the one about a target that no rule makes."""
        if match := NOTHING_MAKES.search(str(record.msg)):
            rules = [rule.name for rule in self.workflow.rules]
            record.msg = nearest_target(match[1], self.study, rules)
        return True


def tell_nearest_target(study: Study, workflow: Any) -> None:
    """Make Snakemake suggest the nearest target where no rule makes the requested one."""
    logging.getLogger(SNAKEMAKE).addFilter(NearestTarget(study, workflow))
