"""What rules ask of the grid: inputs and params, each by the wildcards of one job."""

from typing import Any

from userturn.config.families import bases, families
from userturn.prompts.perturbations import controls_of
from userturn.slurm.resources import Resources
from userturn.storage.hashing import fingerprint
from userturn.study.cells import cell_of, files_of
from userturn.study.grid import Grid
from userturn.study.record import study_record
from userturn.workflow.controls import ControlGrid
from userturn.workflow.humans import HumanGrid
from userturn.workflow.judges import JudgeGrid
from userturn.workflow.pending import Pending
from userturn.workflow.training import TrainingGrid

GRADES_VERSION = 3
SUMMARY_VERSION = 2
ANALYSIS_VERSION = 1
REPORT_VERSION = 1


class Study:
    """A grid that answers to wildcards."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid
        self.pending = Pending(grid)
        self.controls = ControlGrid(self.grid)
        self.resources = Resources(self.grid.models)
        self.training = TrainingGrid(self.grid)
        self.humans = HumanGrid(self.grid)
        self.judges = JudgeGrid(self.grid, self.controls, self.pending)

    def _markers(self, model: str) -> list[str]:
        return [f"results/sweeps/{model}/{shard}.json" for shard in self.grid.shards(model)]

    def source_file(self, wildcards: Any) -> list[str]:
        """Return a dataset's local file, or nothing where it comes from the hub."""
        settings = self.grid.config["datasets"][wildcards.dataset]
        return [] if "hub" in settings else [settings["file"]]

    def dataset_identity(self, wildcards: Any) -> str:
        """Return the identity of a dataset's items."""
        return self.grid.dataset_identity(wildcards.dataset)

    def n_rows(self, wildcards: Any) -> int | None:
        """Return the rows that a dataset's file is pinned to, if it is."""
        n: int | None = self.grid.config["datasets"][wildcards.dataset].get("rows")
        return n

    def model_identity(self, wildcards: Any) -> str:
        """Return what identifies a model's source and template settings."""
        return self.grid.model_fingerprint(wildcards.model)

    def pending_datasets(self, wildcards: Any) -> list[str]:
        """Return the prepared tables that a model's sweep needs."""
        return [
            f"results/datasets/{name}.parquet" for name in self.pending.datasets(wildcards.model)
        ]

    def pending_identities(self, wildcards: Any) -> list[str]:
        """Return the sorted identities of all that a model's sweep has to fill."""
        return self.pending.identities(wildcards.model)

    def markers_of_answers(self, wildcards: Any) -> list[str]:
        """Return the sweeps that answers wait for: none where they are finished."""
        pending = wildcards.dataset in self.pending.answers[wildcards.model]
        return self._markers(wildcards.model) if pending else []

    def markers_of_cell(self, wildcards: Any) -> list[str]:
        """Return the sweeps that a cell's user turns wait for: none where they are finished."""
        pending = cell_of(wildcards) in self.pending.cells[wildcards.model]
        return self._markers(wildcards.model) if pending else []

    def answers_identity(self, wildcards: Any) -> str:
        """Return the identity of a model's answers to a dataset."""
        return self.grid.answers_identity(wildcards.model, wildcards.dataset)

    def cell_identity(self, wildcards: Any) -> str:
        """Return the identity of a cell's user turns."""
        return self.grid.cell_identity(cell_of(wildcards))

    def grades_identity(self, wildcards: Any) -> str:
        """Return the identity of a model's grades on a dataset."""
        judge = self.grid.grader(wildcards.dataset)
        asked = [self.grid.judge_identity(judge)] if judge else []
        verifier = [self.verifier(wildcards), *asked]
        return fingerprint([GRADES_VERSION, self.answers_identity(wildcards), *verifier])

    def verifier(self, wildcards: Any) -> str:
        """Return the verifier of a dataset."""
        return str(self.grid.datasets[wildcards.dataset]["verifier"])

    def verdicts_identity(self, wildcards: Any) -> str:
        """Return the identity of one judge's verdicts on a cell."""
        return self.grid.verdicts_identity(cell_of(wildcards), wildcards.judge)

    def summary_identity(self, wildcards: Any) -> str:
        """Return the identity of the summary of a cell by all judges."""
        cell = cell_of(wildcards)
        identities = [self.grid.verdicts_identity(cell, judge) for judge in self.grid.judges]
        return fingerprint([SUMMARY_VERSION, self._drawing, identities])

    @property
    def _drawing(self) -> list[int]:
        """What shapes resamples."""
        return [self.grid.config["seed"], self.grid.config["statistics"]["resamples"]]

    @property
    def identity(self) -> str:
        """The identity of the study's tables."""
        grid = self.grid
        verifiers = {name: d["verifier"] for name, d in grid.datasets.items()}
        return fingerprint([grid.verdict_identities, verifiers])

    def verdicts(self, wildcards: Any) -> list[str]:
        """Return the verdicts of every judge on a cell."""
        return files_of([cell_of(wildcards)], *self._verdict_files)

    @property
    def _verdict_files(self) -> list[str]:
        return [f"verdicts/{judge}.parquet" for judge in self.grid.judges]

    @property
    def descriptions(self) -> list[str]:
        """What is known of all models."""
        return [f"results/models/{model}.json" for model in self.grid.models]

    @property
    def descriptions_of_sources(self) -> list[str]:
        """What is known of the models that are fetched: those of the run, and bases of trained."""
        sources = set(self.grid.described) - set(self.grid.trained)
        return [f"results/models/{model}.json" for model in sorted(sources)]

    @property
    def prepared_datasets(self) -> list[str]:
        """The items of all datasets, those of the controls included."""
        return [
            f"results/datasets/{dataset}.parquet"
            for dataset in sorted(self.grid.datasets | self.grid.human_datasets)
        ]

    @property
    def analysis_identity(self) -> str:
        """The identity of the tables that compare, pool and correlate."""
        grid = self.grid
        return fingerprint(
            {
                "version": ANALYSIS_VERSION,
                "study": self.identity,
                "families": families(grid.models),
                "bases": bases(grid.models),
                "trained_on": self.training.declared,
                "controls": controls_of(grid.perturbations),
                "drawing": self._drawing,
            }
        )

    @property
    def shown_identity(self) -> str:
        """The identity of what shows the primary judge: figures, comparison with the paper."""
        return fingerprint([self.analysis_identity, self.grid.primary_judge])

    @property
    def record_identity(self) -> str:
        """The identity of the study's record."""
        return study_record(self.grid.config, self.grid.contents).identity

    @property
    def primary_judge(self) -> str:
        """The judge that figures and the comparison with the paper show."""
        return self.grid.primary_judge

    @property
    def all_verdicts(self) -> list[str]:
        """The verdicts of every judge on all cells."""
        return files_of(self.grid.cells, *self._verdict_files)

    @property
    def all_user_turns(self) -> list[str]:
        """The user turns of all cells."""
        return files_of(self.grid.cells, "user_turns.parquet")

    @property
    def summaries(self) -> list[str]:
        """The summaries of all cells."""
        return files_of(self.grid.cells, "summary.parquet")

    @property
    def grades(self) -> list[str]:
        """The grades of all models and datasets."""
        grid = self.grid
        return [f"results/grades/{m}/{d}.parquet" for m in grid.models for d in grid.datasets]

    @property
    def answers(self) -> list[str]:
        """The answers of all models to all datasets."""
        grid = self.grid
        return [f"results/answers/{m}/{d}.parquet" for m in grid.models for d in grid.datasets]

    @property
    def report_identity(self) -> str:
        """The identity of the report: what shapes it and is no file that it is made of."""
        return fingerprint([REPORT_VERSION, self.shown_identity, self.grid.private_datasets])
