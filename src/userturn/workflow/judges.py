"""Inputs, params and resources of rules/judges.smk."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from userturn.endpoints.api_keys import read_key
from userturn.errors import UserError
from userturn.slurm.resources import Resources
from userturn.storage.atomic_files import read_identity
from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell
from userturn.study.grid import Grid
from userturn.study.self_play import Depth
from userturn.workflow.candidates import CandidateGrid
from userturn.workflow.chance_floor import ChanceFloorGrid
from userturn.workflow.controls import ControlGrid
from userturn.workflow.labelled import LABELLED, LabelledGrid
from userturn.workflow.pending import Pending
from userturn.workflow.self_play import SelfPlayGrid

TABLES_VERSION = 2  # of costs and judges
# The sources of judged turns.
Judged = Cell | Depth | ControlGrid | ChanceFloorGrid | LabelledGrid | CandidateGrid


class JudgeGrid:
    """The judges of a grid, and the turns that each has yet to judge."""

    def __init__(
        self,
        grid: Grid,
        controls: ControlGrid,
        chance_floor: ChanceFloorGrid,
        labelled: LabelledGrid,
        candidates: CandidateGrid,
        self_play: SelfPlayGrid,
        to_sweep: Pending,
    ) -> None:
        """Take the grid of a checked configuration, its controls, and the pending sweeps."""
        self.grid = grid
        self.controls = controls
        self.chance_floor = chance_floor
        self.labelled = labelled
        self.candidates = candidates
        self.self_play = self_play
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
        """Return how many requests a judge may have in flight; 0 for one without an endpoint."""
        return int(self.grid.judges[judge].get("concurrency", 0))

    @cached_property
    def _folders(self) -> dict[str, tuple[str, str, Judged]]:
        """By folder of judged turns: model, dataset, and the source of the turns."""
        folders: dict[str, tuple[str, str, Judged]] = {}
        for cell in self.grid.cells:
            folders[f"cells/{cell.folder}"] = (cell.model, cell.dataset, cell)
        for model, dataset in self.controls.sources:
            folders[f"controls/{model}/{dataset}"] = (model, dataset, self.controls)
        for model, dataset in self.chance_floor.sources:
            folders[f"chance_floor/{model}/{dataset}"] = (model, dataset, self.chance_floor)
        for folder, at in self.self_play.by_folder.items():
            folders[folder] = (at.model, at.dataset, at)
        for model, dataset in self.labelled.sources:
            folders[LABELLED] = (model, dataset, self.labelled)
        for model, dataset in self.candidates.sources:
            folders[f"candidates/{model}/{dataset}"] = (model, dataset, self.candidates)
        return folders

    def _identity(self, folder: str, judge: str) -> str:
        model, dataset, judged = self._folders[folder]
        if isinstance(judged, Cell):
            return self.grid.verdicts_identity(judged, judge)
        if isinstance(judged, Depth):
            return self.self_play.verdicts_identity(judged, judge)
        return judged.identity_of(model, dataset, judge)

    def _pending(self, judge: str) -> Iterator[str]:
        """Yield the folders whose verdicts are missing or outdated."""
        sweeping: set[Judged] = {c for cells in self.to_sweep.cells.values() for c in cells}
        sweeping |= set(self.to_sweep.depths)
        for folder, (_, dataset, cell) in self._folders.items():
            if dataset in self.to_sweep.unusable:
                continue  # or the one job of a judge would wait for it
            path = self.grid.results / folder / "verdicts" / f"{judge}.parquet"
            if cell in sweeping or read_identity(path) != self._identity(folder, judge):
                yield folder

    @cached_property
    def pending(self) -> dict[str, list[str]]:
        """The pending folders of each judge that works through all of them in one job."""
        return {
            judge: sorted(self._pending(judge))
            for judge, settings in self.grid.judges.items()
            if settings.get("serve") or settings.get("batch")
        }

    def pending_turns(self, judge: str) -> list[str]:
        """Return the user turns that the one job of a judge has to judge."""
        return [f"results/{folder}/user_turns.parquet" for folder in self.pending[judge]]

    def pending_datasets(self, judge: str) -> list[str]:
        """Return the items that those turns belong to."""
        sources = [self._folders[folder] for folder in self.pending[judge]]
        return sorted(
            judged.path_to_conversations
            if isinstance(judged, Depth)
            else f"results/datasets/{dataset}.parquet"
            for dataset, judged in {(dataset, judged) for _, dataset, judged in sources}
        )

    def pending_identities(self, judge: str) -> list[str]:
        """Return the sorted identities of the verdicts that the one job of a judge has to give."""
        return sorted(self._identity(folder, judge) for folder in self.pending[judge])

    def marker_of_cell(self, cell: Cell, judge: str) -> list[str]:
        """Return the marker of the one job of a judge that a cell waits for, if any."""
        return self._marker(f"cells/{cell.folder}", judge)

    def marker_of_controls(self, model: str, dataset: str, judge: str) -> list[str]:
        """Return the marker of the one job of a judge that a control waits for, if any."""
        return self._marker(f"controls/{model}/{dataset}", judge)

    def marker_of_chance_floor(self, model: str, dataset: str, judge: str) -> list[str]:
        """Return the marker of the one job of a judge that a chance floor waits for, if any."""
        return self._marker(f"chance_floor/{model}/{dataset}", judge)

    def marker_of_candidates(self, model: str, dataset: str, judge: str) -> list[str]:
        """Return the marker of the one job of a judge that turns after candidates wait for."""
        return self._marker(f"candidates/{model}/{dataset}", judge)

    def marker_of_depth(
        self, model: str, dataset: str, temperature: str, depth: str, judge: str
    ) -> list[str]:
        """Return the marker of the one job of a judge that a depth of self-play waits for."""
        return self._marker(Depth(model, dataset, temperature, int(depth)).folder, judge)

    def marker_of_labelled(self, judge: str) -> list[str]:
        """Return the marker of the one job of a judge that the labelled turns wait for, if any."""
        return self._marker(LABELLED, judge)

    def _marker(self, folder: str, judge: str) -> list[str]:
        if folder not in self.pending.get(judge, []):
            return []
        is_served = self.grid.judges[judge].get("serve")
        return [f"results/judging/{'' if is_served else 'batches/'}{judge}.json"]

    @property
    def prices(self) -> dict[str, Any]:
        """The prices of the judges that have one, per million tokens."""
        return self.grid.prices

    @property
    def identity(self) -> str:
        """The identity of the tables of costs and judges."""
        return fingerprint(
            [
                TABLES_VERSION,
                self.prices,
                sorted(
                    self._identity(folder, judge)
                    for folder in self._folders
                    for judge in self.grid.judges
                ),
            ]
        )
