"""Self-play: conversations that a model continues with itself, one depth after another.

Depth 1 is a cell without a perturbation: the model's own answer and the user turn after it. At each
further depth the model answers the user turn that it wrote, and is probed again. A depth's identity
follows from the one before it, so that a longer conversation leaves finished depths finished.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from userturn.config.entries import Config, selected
from userturn.errors import ConfigError, near_miss
from userturn.sources.answers import answers_path
from userturn.sources.scores import (
    n_contexts,
    n_own_turns,
    scored_models,
    scores_path,
    written_scores_identity,
)
from userturn.sources.source import (
    ANSWERS,
    SCORES,
    USER_TURNS,
    Asked,
    Job,
    JudgeRule,
    Load,
    Sizes,
    Source,
    Turns,
    identity,
    longest_exchange,
    requests,
    turns_of,
)
from userturn.storage.hashing import fingerprint
from userturn.study.cells import PLAIN, Cell
from userturn.study.grid import Grid

SELF_PLAY_VERSION = 1
NAMED = "depth-"  # begins the name of a depth, in paths and tables of scores
FOLDER = "self_play/{model}/{dataset}/t{temperature}/depth-{depth}"
SELF_PLAY_TURNS = "self_play_turns"  # as a table of scores


class Depth(NamedTuple):
    """One depth of the conversations that begin in a cell, with the temperature as in paths."""

    model: str
    dataset: str
    temperature: str
    depth: int

    @property
    def cell(self) -> Cell:
        """The cell that the conversations begin in."""
        return Cell(self.model, self.dataset, self.temperature, PLAIN)

    @property
    def name(self) -> str:
        """Its name in paths, and in the place of a perturbation in tables of scores."""
        return f"{NAMED}{self.depth}"

    @property
    def folder(self) -> str:
        """The folder of its files below the results, at depth 1 the cell's folder."""
        if self.depth == 1:
            return f"cells/{self.cell.folder}"
        cell = f"{self.model}/{self.dataset}/t{self.temperature}"
        return f"self_play/{cell}/{self.name}"

    @property
    def previous(self) -> "Depth":
        """The depth before it."""
        return self._replace(depth=self.depth - 1)

    @property
    def path_to_conversations(self) -> str:
        """The path of the conversations before its answers, which at depth 1 are the items."""
        if self.depth == 1:
            return f"results/datasets/{self.dataset}.parquet"
        return f"results/{self.folder}/conversations.parquet"

    @property
    def path_to_answers(self) -> str:
        """The path of the model's answers, which at depth 1 are those to the dataset."""
        if self.depth == 1:
            return answers_path(self.model, self.dataset)
        return f"results/{self.folder}/answers.parquet"

    @property
    def path_to_user_turns(self) -> str:
        """The path of the user turns that end this depth."""
        return f"results/{self.folder}/user_turns.parquet"


def self_play_settings(config: Config) -> Mapping[str, Any] | None:
    """Return the settings of self-play, or None if a study turns it off or is older."""
    settings: Mapping[str, Any] | None = config.get("self_play") or None
    return settings


def check(config: Config) -> None:
    """Check that conversations have a cell to begin in.

    Raises:
        ConfigError: there is none, or the settings name a dataset that is not in the run.
    """
    settings = self_play_settings(config)
    if settings is None:
        return
    if "none" not in selected(config, "perturbations"):
        raise ConfigError(
            "self_play: the run has no perturbation 'none', whose user turns it goes on from; "
            "add it to run.perturbations, or leave self_play out"
        )
    datasets = selected(config, "datasets")
    for name in settings.get("datasets", []):
        if name not in datasets:
            raise ConfigError(
                f"self_play.datasets: '{name}' is not a dataset of the run"
                f"{near_miss(name, datasets)}"
            )


def depths(grid: Grid) -> list[Depth]:
    """Return the depths of self-play beyond the first, shallow ones first, empty if it is off."""
    settings = self_play_settings(grid.config)
    if settings is None:
        return []
    chosen = settings.get("datasets", list(grid.datasets))
    return [
        Depth(*cell[:3], depth)
        for depth in range(2, settings["turns"] + 1)
        for cell in grid.cells
        if cell.perturbation == PLAIN and cell.dataset in chosen
    ]


def depths_from_the_first(grid: Grid) -> list[Depth]:
    """Return the depths of self-play from depth 1, which are cells, on, empty if it is off."""
    beyond = depths(grid)
    return [*dict.fromkeys(at._replace(depth=1) for at in beyond), *beyond]


def depth_identity(grid: Grid, at: Depth, what: str = USER_TURNS) -> str:
    """Return the identity of a depth's answers or user turns, at depth 1 the cell's identity."""
    if at.depth == 1:
        return grid.cell_identity(at.cell)
    return fingerprint([SELF_PLAY_VERSION, what, depth_identity(grid, at.previous)])


def asked(grid: Grid) -> Iterator[Asked]:
    """Yield the answers and the user turns of each depth beyond the first, then their scores."""
    yield from _written(grid)
    if n_own_turns(grid.config):
        for model, dataset in dict.fromkeys((at.model, at.dataset) for at in depths(grid)):
            if model in scored_models(grid):
                yield _scores(grid, model, dataset)


def _scores(grid: Grid, model: str, dataset: str) -> Asked:
    own = [at for at in depths_from_the_first(grid) if (at.model, at.dataset) == (model, dataset)]
    written = [depth_identity(grid, at) for at in own if at.depth > 1]
    return Asked(
        scores_path(model, dataset, SELF_PLAY_TURNS),
        model,
        dataset,
        written_scores_identity(grid, model, SELF_PLAY_TURNS, written),
        SCORES,
        partial(_scoring_requests, grid, own),
        tuple(path for at in own for path in (at.path_to_answers, at.path_to_user_turns)),
    )


def _scoring_requests(grid: Grid, own: Sequence[Depth], sizes: Sizes) -> Load:
    size, longest = sizes[own[0].dataset], longest_exchange(grid, own[0].model)
    n = n_contexts(grid, size.n_items)
    read = n * sum(size.n_tokens + at.depth * longest for at in own)
    return Load(n * len(own), read)


def _written(grid: Grid) -> Iterator[Asked]:
    for at in depths(grid):
        paths = {ANSWERS: at.path_to_answers, USER_TURNS: at.path_to_user_turns}
        temperature = grid.temperatures[at.temperature]
        settings = {
            ANSWERS: grid.answer_settings(at.model),
            USER_TURNS: grid.user_turn_settings(temperature),
        }
        before = at.previous.path_to_answers, at.previous.path_to_user_turns
        cell: dict[str, str | float] = {"temperature": temperature, "perturbation": PLAIN}
        for kind, after in ((ANSWERS, before), (USER_TURNS, (*before, at.path_to_answers))):
            yield Asked(
                paths[kind],
                at.model,
                at.dataset,
                depth_identity(grid, at, kind),
                kind,
                partial(_requests, grid, at, kind),
                after,
                settings[kind],
                cell={} if kind == ANSWERS else cell,
                depth=at.depth,
                goes_on_from=at.previous.path_to_user_turns,
            )


def judged(grid: Grid) -> Iterator[Turns]:
    """Yield the user turns of each depth beyond the first."""
    written = {of.path: of for of in _written(grid)}
    for at in depths(grid):
        paths = at.previous.path_to_conversations, at.previous.path_to_user_turns
        yield turns_of(written[at.path_to_user_turns], at.path_to_conversations, paths)


def conversations(grid: Grid) -> dict[str, str]:
    """Return the identity of the conversations before each depth beyond the first, by path."""
    return {at.path_to_conversations: depth_identity(grid, at) for at in depths(grid)}


def _requests(grid: Grid, at: Depth, kind: str, sizes: Sizes) -> Load:
    size, answer = sizes[at.dataset], grid.answer_settings(at.model)["max_tokens"]
    before = size.n_tokens + (at.depth - 1) * longest_exchange(grid, at.model)
    if kind == ANSWERS:
        return requests(size.n_items, before, answer)
    return requests(size.n_items, before + answer, grid.config["user_turn"]["max_tokens"])


RULE = JudgeRule("judge_self_play", FOLDER, f"results/{FOLDER}/conversations.parquet")
ANSWERS_PATH = f"results/{FOLDER}/answers.parquet"
JOBS = {
    "collect_self_play": Job(
        "Collect one depth of self-play: conversations, the model's answers and its user turns.",
        "generation.self_play.collect_self_play",
        {
            "sweeps": f"study.generation.waits_for({ANSWERS_PATH}, {RULE.user_turns})",
            "paths_before": f"study.paths_behind_turns({FOLDER})",
        },
        {
            "path_to_conversations": RULE.items,
            "path_to_answers": ANSWERS_PATH,
            "path_to_user_turns": RULE.user_turns,
        },
        identity(f"identity({RULE.user_turns})"),
    )
}
INPUTS = {
    "self_play_conversations": lambda grid: [
        at.path_to_conversations for at in depths_from_the_first(grid)
    ],
    "self_play_turns": lambda grid: [at.path_to_user_turns for at in depths_from_the_first(grid)],
    "self_play_verdicts": lambda grid: [
        f"results/{at.folder}/verdicts/{judge}.parquet"
        for at in depths_from_the_first(grid)
        for judge in grid.judges
    ],
    "self_play_scores": lambda grid: sorted(of.path for of in asked(grid) if of.kind == SCORES),
}
SOURCE = Source(
    asked,
    judged,
    (RULE,),
    conversations,
    JOBS,
    {"depth": r"[1-9]\d*"},
    INPUTS,
    {SELF_PLAY_TURNS: "generation.self_play.self_play_turns"},
    check,
)
