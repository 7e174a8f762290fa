"""Inputs, params and resources of rules/judges.smk, with the turns each judge must still label."""

from functools import cached_property

from userturn.config.job_resources import Resources
from userturn.endpoints.api_keys import read_key
from userturn.errors import UserError
from userturn.sources.registry import judged, verdicts_identity
from userturn.sources.source import Turns
from userturn.storage.files import read_identity
from userturn.study.grid import Grid
from userturn.study.grid_elsewhere import asked_elsewhere, states
from userturn.workflow.pending import Pending, any_of

WITHOUT_QUESTIONS = "userturn.workflow.study_size.judges_without_questions"  # reads tables


class JudgeGrid:
    """The judges of a grid, and the turns that each must still label."""

    def __init__(self, grid: Grid, to_sweep: Pending) -> None:
        """Take the grid of a checked configuration, and the pending sweeps."""
        self.grid = grid
        self.to_sweep = to_sweep
        defaults = grid.config["model_defaults"]
        entries = {name: defaults | settings for name, settings in grid.judges.items()}
        self.resources = Resources(entries, "logs/serve_judge/{wildcards.judge}.log", "judge")

    def check_keys(self) -> None:
        """End the program if the API key of a judge or model is not in the environment."""
        asked = [("judge", name, self.grid.all_judges[name]) for name in self.grid.asked_judges]
        asked += [("model", name, dict(entry)) for name, entry in self.grid.models.items()]
        for kind, name, entry in asked:
            try:
                read_key(name, entry, kind)
            except UserError as error:
                raise SystemExit(f"error: {error}") from None

    def n_at_once(self, judge: str) -> int:
        """Return how many requests a judge may have in flight, 0 without an endpoint."""
        return int(self.grid.judges[judge].get("concurrency", 0))

    @cached_property
    def _usable(self) -> list[Turns]:
        """The tables of turns whose dataset could be prepared, so that no job waits for others."""
        unusable = self.to_sweep.unusable
        return [turns for turns in judged(self.grid).values() if turns.dataset not in unusable]

    def _lacks(self, judge: str, turns: Turns) -> bool:
        """Return whether a judge's verdicts on a table of turns are missing or outdated."""
        path = self.grid.at(turns.verdicts(judge))
        return read_identity(path) != verdicts_identity(self.grid, turns, judge)

    def unjudged(self, judge: str) -> list[Turns]:
        """Return the tables of turns that lack verdicts of a judge."""
        turns = self._usable if judge in self.grid.judges else []
        return [of for of in turns if self._lacks(judge, of)]

    @cached_property
    def pending(self) -> dict[str, list[Turns]]:
        """The pending tables of turns of each judge that labels all in one job, sorted by folder.

        They lack its verdicts, or still wait for a sweep.
        """
        to_sweep, usable = self.to_sweep.tables, sorted(self._usable, key=lambda of: of.folder)
        return {
            judge: [of for of in usable if of.path in to_sweep or self._lacks(judge, of)]
            for judge, settings in self.grid.judges.items()
            if settings.get("serve") or settings.get("batch")
        }

    @property
    def looked_up(self) -> str:
        """The regular expression of served judges whose pending verdicts need no request.

        Those judges are not loaded. Turns that do not exist yet always need requests.
        """
        grid = self.grid
        asked = {
            judge: turns
            for judge, turns in self.pending.items()
            if grid.judges[judge].get("serve")
            and turns
            and all(read_identity(grid.at(of.path)) == of.identity for of in turns)
        }
        if not asked:
            return any_of(())
        tables = {grid.at(of.path) for turns in asked.values() for of in turns}
        journals = sorted((grid.results / "journal" / "judges").glob("*/*/[!.]*.jsonl"))
        state = [states(sorted(tables)), states(journals), grid.contents.rubric]
        answered = asked_elsewhere(WITHOUT_QUESTIONS, grid, {"judges": sorted(asked)}, state)
        return any_of(judge for judge in asked if judge in (answered or ()))

    def pending_turns(self, judge: str) -> list[str]:
        """Return the paths of the user turns to label in a judge's one job."""
        return [turns.path for turns in self.pending[judge]]

    def pending_items(self, judge: str) -> list[str]:
        """Return the paths of the conversations before those user turns, in the same order."""
        return [turns.items for turns in self.pending[judge]]

    def pending_identities(self, judge: str) -> list[str]:
        """Return the sorted identities of the verdicts to be given in a judge's one job."""
        return sorted(verdicts_identity(self.grid, of, judge) for of in self.pending[judge])

    def marker(self, path: str) -> list[str]:
        """Return the path of the marker for which a table of verdicts waits, if any."""
        turns, judge = self.turns_and_judge_by_path[path]
        if turns not in self.pending.get(judge, []):
            return []
        is_served = self.grid.judges[judge].get("serve")
        return [f"results/judging/{'' if is_served else 'batches/'}{judge}.json"]

    @cached_property
    def turns_and_judge_by_path(self) -> dict[str, tuple[Turns, str]]:
        """The turns and the judge of every table of verdicts, by path of the verdicts."""
        every = judged(self.grid).values()
        return {of.verdicts(judge): (of, judge) for of in every for judge in self.grid.judges}
