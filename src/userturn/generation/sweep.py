"""A sweep: load one model once and work through every pending request of it.

Answers come first, then the user turns of every dataset, temperature and perturbation. What the
journals hold already is not asked again; with nothing missing nothing is loaded at all.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from userturn.config.entries import Config, ModelEntry
from userturn.generation.ask_engine import Asker
from userturn.generation.plan_files import Plan, plan_keys
from userturn.generation.planner import Planner
from userturn.generation.reasoning import split_reasoning
from userturn.generation.resume import n_settled
from userturn.generation.sweep_plan import PendingPlans
from userturn.models.engine import load_engine
from userturn.models.fetch import model_folder
from userturn.prompts.chat_template import load_template
from userturn.signals import StopFlag
from userturn.storage.atomic_files import write_json
from userturn.storage.hashing import fingerprint
from userturn.storage.journal_table import find_outcomes, read_places
from userturn.storage.leases import lease
from userturn.study.grid import Grid
from userturn.study.model_description import read_description, request_identity

SHOWN = ["item", "prompt_text", "outcome", "text"]


@dataclass
class Sweep:
    """One shard of one model: what is pending, and who has it asked.

    Attributes:
        plans: of what is pending.
        asker: has them answered.
    """

    plans: PendingPlans
    asker: Asker

    def run(self) -> None:
        """Ask for the answers, then for the user turns of all cells at once."""
        with TemporaryDirectory() as scratch:
            answers = {name: self.plans.answers(name, Path(scratch)) for name in self.plans.cells}
            self.asker.complete("answers", chain.from_iterable(answers.values()))
            turns = [
                plan
                for name, asked in answers.items()
                for plan in self.plans.user_turns(
                    name, shown_answers(asked, self.asker.journal(name))
                )
            ]
        self.asker.complete("user turns", turns)


def shown_answers(plans: Sequence[Plan], journal: Path) -> dict[str, str | None]:
    """Return by item the answers that the model is shown as its own; None where it has none."""
    found = find_outcomes(journal, plan_keys(plan.path for plan in plans))
    shown = {}
    for asked in chain.from_iterable(plan.slices("item", "key", "prompt_text") for plan in plans):
        rows = asked.join(read_places(found, asked["key"]), on="key", how="left")
        for item, prompt, outcome, text in rows.select(SHOWN).iter_rows():
            is_shown = outcome in ("ok", "empty")
            shown[item] = split_reasoning(text, prompt).text if is_shown else None
    return shown


def engine_settings(config: Config, entry: ModelEntry) -> dict[str, Any]:
    """Return what a model's engine is loaded with, by the study's settings and its entry."""
    settings: dict[str, Any] = config["vllm"] | {
        "dtype": entry["dtype"],
        "max_model_len": entry["max_model_len"],
        "trust_remote_code": entry["trust_remote_code"],
        "tensor_parallel_size": max(1, entry["gpus"] // entry["nodes"]),
        "nnodes": entry["nodes"],
        "exact": config.get("determinism") == "exact",
    }
    return settings


def load_sweep(grid: Grid, model: str, shard: str, pending: Iterable[str], stop: StopFlag) -> Sweep:
    """Return the sweep of one shard, its tokenizer loaded and its engine not yet."""
    entry, config = grid.models[model], grid.config
    revision = read_description(grid, model)["revision"]  # the noted commit, no branch
    folder = model_folder(entry["source"], revision)
    template = load_template(folder, entry, config["today"])
    settings = engine_settings(config, entry)
    asker = Asker(
        model,
        template,
        lambda dataset: grid.journal_folder(model, dataset),
        lambda: load_engine(config["engine"], folder, settings),
        stop,
    )
    identity = request_identity(grid, model)
    planner = Planner(identity, template, entry["max_model_len"], config["seed"])
    return Sweep(PendingPlans(grid, model, shard, frozenset(pending), planner), asker)


def run_sweep(
    grid: Grid,
    model: str,
    shard: str,
    pending: Iterable[str],
    n_threads: int,
    path_to_marker: str | Path,
) -> None:
    """Fill the journals with every request of a model's pending cells, then write the marker.

    Raises:
        UserError: the model cannot be loaded, somebody else sweeps it, or a signal ended the sweep.
    """
    os.environ["OMP_NUM_THREADS"] = str(n_threads)
    stop = StopFlag()
    wanted = sorted(pending)
    with lease(grid.leases_folder(model), shard, stop.set):
        stop.listen()
        n_found, n_asked = n_settled(grid, model, shard, wanted), 0
        if n_found is None:
            sweep = load_sweep(grid, model, shard, wanted, stop)
            sweep.run()
            n_found, n_asked = sweep.asker.n_found, sweep.asker.n_asked
        marker = {"pending": wanted, "n_found": n_found, "n_asked": n_asked}
        write_json(marker, path_to_marker, fingerprint(wanted))
