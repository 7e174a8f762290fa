"""Make any file of a study by the table of jobs, in this process, as Snakemake would.

Sweeps are not in the table with what they make, so answers and turns are there before.
"""

import re
from dataclasses import replace
from pathlib import Path

from userturn.workflow.run_job import STUDY, call, inputs_of, replayed
from userturn.workflow.run_job import every_job as jobs
from userturn.workflow.study import Study

NAME = r"[^/]+"


def _pattern(text: str) -> re.Pattern[str]:
    """Return what matches the paths of an output; each wildcard is one part of a path."""
    parts = re.split(r"\{(\w+)\}", text)
    seen: set[str] = set()
    found = ""
    for position, part in enumerate(parts):
        if position % 2 == 0:
            found += re.escape(part)
        else:
            found += f"(?P={part})" if part in seen else f"(?P<{part}>{NAME})"
            seen.add(part)
    return re.compile(found)


class InProcess:
    """A study in the present folder."""

    def __init__(self, study: Study) -> None:
        """Take a study whose answers and user turns are there."""
        self.study = study
        self.made: set[str] = set()
        self._rules = [
            (rule, _pattern(text), job.wildcards)
            for rule, job in jobs().items()
            for texts in job.outputs.values()
            for text in self._texts(rule, texts)
        ]

    def _texts(self, rule: str, texts: str | list[str]) -> list[str]:
        given = [texts] if isinstance(texts, str) else list(texts)
        return [text for text in given if not text.startswith(STUDY)]

    def make(self, path: str) -> None:
        """Make a file that is not there, after what it is made from.

        Raises:
            LookupError: no job makes it.
        """
        if path in self.made or Path(path).exists():
            return
        rule, wildcards = self._job_of(path)
        for paths in inputs_of(self.study, rule, wildcards).values():
            for needed in paths:
                self.make(needed)
        task = replayed(self.study, rule, str, str, wildcards)
        for paths in task.outputs.values():
            for made in paths:
                Path(made).parent.mkdir(parents=True, exist_ok=True)
                self.made.add(made)
        call(replace(task, is_again=False))

    def _job_of(self, path: str) -> tuple[str, dict[str, str]]:
        for rule, pattern, allowed in self._rules:
            found = pattern.fullmatch(path)
            if found and all(
                re.fullmatch(allowed.get(k, NAME), v) for k, v in found.groupdict().items()
            ):
                return rule, found.groupdict()
        raise LookupError(f"no job makes '{path}'")
