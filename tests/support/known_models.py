"""Studies whose truth is known: models, a judge and people that do by chance what they are told to.

A model writes a user turn of a set kind with a set probability, and a right answer with another;
the judge and people err at set rates. Everything between what they write and what a study prints is
the pipeline's own: requests, journals, tables, draws of turns, corrections, contrasts and claims.
"""

import atexit
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import chdir
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from shutil import copytree, rmtree
from statistics import NormalDist
from tempfile import mkdtemp
from typing import Any
from unittest.mock import patch

import polars as pl
import yaml

from tests.support.edited_study import EditedStudy
from tests.support.in_process import InProcess
from tests.support.snakemake_runs import ROOT
from userturn.judges import heuristic
from userturn.judges.verdict import GENUINE, Verdict
from userturn.models import engine
from userturn.models.requests import AnyRequest, Completion, Engine, ScoringRequest, scores
from userturn.study.grid import Grid
from userturn.workflow.study import Study

NORMAL = NormalDist()
FAMILIES = {"alpha-1b": "alpha", "alpha-3b": "alpha", "beta-1b": "beta", "beta-3b": "beta"}
REACTS, COPIES, LEAKS, RESTATES, ENDS = "Reacting", "Copying", "Planning", "Restating", "Ending"
LABEL = {
    REACTS: GENUINE,
    COPIES: "prompt_restate",
    LEAKS: "assistant_turn_restate",
    RESTATES: "assistant_turn_restate",
    ENDS: "degenerate",
}
FAILS_AS = ((COPIES, 0.5), (LEAKS, 0.8), (RESTATES, 0.95), (ENDS, 1.0))  # cumulative shares
END = "That is all."  # of an answer: one that lacks it was cut
ITEM = re.compile(r"(sums|talks)-\d{3}")
N_ITEMS = {"sums": 60, "talks": 40}
N_LABELS = 60  # turns that people label of each model
GAIN = 0.02  # nats a token by which a model that reacts finds a follow-up likelier


@dataclass(frozen=True)
class Truth:
    """What is true of a study.

    Attributes:
        seed: of all that is drawn.
        share: the chance that a turn reacts, by model, temperature and perturbation.
        right: the chance that an answer is right, by model.
        is_coupled: whether items that a model answers rightly are those that it reacts to.
        alike: the correlation of an item's turns, on the scale of the normal quantile.
        sensitivity: the chance that the judge calls a reacting turn genuine.
        false_positives: the chance that it calls another one so; the empty turn never.
        people: the same two chances of a person.
        identifies: the models whose likelihoods find an answer's own follow-up.
    """

    seed: int
    share: Mapping[tuple[str, float, str], float]
    right: Mapping[str, float]
    is_coupled: bool = False
    alike: float = 0.3
    sensitivity: float = 0.8
    false_positives: float = 0.05
    people: tuple[float, float] = (1.0, 0.0)
    identifies: frozenset[str] = field(default_factory=frozenset)

    def uniform(self, *names: object) -> float:
        """Return a number between 0 and 1 that belongs to some names."""
        digest = sha256(json.dumps([self.seed, *names]).encode()).digest()
        return (int.from_bytes(digest[:8], "big") + 0.5) / 2**64

    def normal(self, *names: object) -> float:
        """Return a normal number that belongs to some names."""
        return NORMAL.inv_cdf(self.uniform(*names))

    def is_right(self, model: str, item: str) -> bool:
        """Return whether a model answers an item rightly."""
        own = "taste" if self.is_coupled else "skill"
        return NORMAL.cdf(self.normal(own, model, item)) < self.right[model]

    def kind(self, model: str, temperature: float, perturbation: str, item: str) -> str:
        """Return what a model writes as the user."""
        share = self.share[model, temperature, perturbation]
        alike = self.alike if not self.is_coupled else 0.9
        own = self.normal("turn", model, temperature, perturbation, item)
        mixed = alike**0.5 * self.normal("taste", model, item) + (1 - alike) ** 0.5 * own
        if NORMAL.cdf(mixed) < share:
            return REACTS
        failure = self.uniform("failure", model, temperature, perturbation, item)
        return next(kind for kind, upto in FAILS_AS if failure < upto)

    def verdict(
        self,
        messages: Sequence[Mapping[str, str]],
        answer: str,
        text: str,
        settings: Mapping[str, Any],
    ) -> Verdict:
        """Return the judge's verdict on a turn, in the place of the rules' (`judge_by_words`)."""
        true = true_label(answer, text)
        if not text:
            return Verdict(true, "empty")
        chance = self.sensitivity if true == GENUINE else self.false_positives
        if self.uniform("judge", answer, text) < chance:
            return Verdict(GENUINE, "it reacts")
        return Verdict("generic" if true == GENUINE else true, "it does not react")

    def label(self, person: str, answer: str, text: str) -> str:
        """Return a person's label of a turn."""
        true = true_label(answer, text)
        found, wrong = self.people
        is_genuine = self.uniform("person", person, answer, text) < (
            found if true == GENUINE else wrong
        )
        if is_genuine:
            return GENUINE
        return "generic" if true == GENUINE else true


def true_label(answer: str, text: str) -> str:
    """Return what a turn is: one that reacts to another item's answer does not react to this."""
    kind, _, rest = text.partition(" ")
    if kind == REACTS and _item(rest) != _item(answer):
        return "unrelated"
    return LABEL[kind or ENDS]


def _item(text: str) -> str | None:
    found = ITEM.findall(text) and next(ITEM.finditer(text))
    return found[0] if found else None


class KnownStudy(EditedStudy):
    """A study of such models, made in this process up to its tables."""

    def __init__(self, folder: Path, truth: Truth) -> None:
        """Take an empty folder for the study, and what is true of it."""
        super().__init__(folder, _config(folder, truth))
        self.truth = truth

    def load(self, folder: Path, settings: Mapping[str, Any]) -> Engine:
        """Return the engine of a model, whose name is its folder's."""
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

        def complete(requests: Iterable[AnyRequest]) -> Iterator[tuple[AnyRequest, Completion]]:
            for request in requests:
                if isinstance(request, ScoringRequest):
                    yield request, self._scores(folder.name, tokenizer, request)
                    continue
                ids = tokenizer.encode(self._said(folder.name, request)).ids
                yield request, Completion((*ids, request.sampling.stop_token_ids[0]), "stop")

        return complete

    def _said(self, model: str, request: Any) -> str:
        prompt = request.prompt.text
        item = str(_item(prompt))
        if prompt.rstrip().endswith("assistant"):
            number = int(item[-3:]) + (0 if self.truth.is_right(model, item) else 1)
            return f"This is about {item}, says {model}. So the answer is {number}. {END}"
        perturbation = "none" if END in prompt else "truncate"
        at = model, request.sampling.temperature, perturbation, item
        kind = self.truth.kind(*at)
        return "" if kind == ENDS else f"{kind} {item} by {' '.join(map(str, at))}."

    def _scores(self, model: str, tokenizer: Any, request: ScoringRequest) -> Completion:
        ids = list(request.token_ids)
        before, said = (
            tokenizer.decode(part) for part in (ids[: request.n_context], ids[request.n_context :])
        )
        answer = before.rpartition("assistant\n")[2]
        is_own = _item(said) is not None and _item(said) == _item(answer)
        gain = GAIN if is_own and model in self.truth.identifies else 0.0
        noise = 2 * GAIN * (self.truth.uniform("score", model, before, said) - 0.5)
        return scores([-1.0 + gain + noise] * (len(ids) - request.n_context))

    def make(self, *tables: str) -> dict[str, pl.DataFrame]:
        """Ask, judge, label, and make tables; return them by name."""
        with (
            patch.dict(engine.LOADERS, {"transformers": self.load}),
            patch.object(heuristic, "judge_by_words", self.truth.verdict),
            chdir(self.folder),
        ):
            self.settle()
            self._label()
            made = InProcess(self._study())
            for name in tables:
                made.make(f"results/tables/{name}.parquet")
        return {name: pl.read_parquet(self.results / f"tables/{name}.parquet") for name in tables}

    def _study(self) -> Study:
        return Study(Grid(deepcopy(self.config)))

    def _label(self) -> None:
        """Have two people label the turns that the study draws for them."""
        round_name = self.config["humans"]["rounds"][0]
        folder = f"results/humans/{round_name}"
        InProcess(self._study()).make(f"{folder}/items.parquet")
        items = pl.read_parquet(f"{folder}/items.parquet").to_dicts()
        for person in ("ann", "ben"):
            rows = [
                {"round": round_name, "annotator": person, "id": row["id"], "notes": ""}
                | {"label": self.truth.label(person, row["conversation"][-1]["text"], row["turn"])}
                for row in items
            ]
            path = Path("data/annotations", round_name, f"{person}.csv")
            path.parent.mkdir(parents=True, exist_ok=True)
            pl.DataFrame(rows).write_csv(path)


@cache
def written_models() -> list[Path]:
    """Write a model for each name, once; they differ in their weights alone."""
    from tests.support.tiny_model import write_tiny_model

    folder = Path(mkdtemp(prefix="known-models-"))
    atexit.register(rmtree, folder)
    return [
        write_tiny_model(folder / model, seed=number, width=8)
        for number, model in enumerate(FAMILIES)
    ]


def _config(folder: Path, truth: Truth) -> dict[str, Any]:
    """Write the models and the datasets, and return the study's configuration."""
    (folder / "data").mkdir(parents=True)
    for path in (ROOT / "data").iterdir():
        if path.name != "annotations":
            (folder / "data" / path.name).symlink_to(path)
    for model, written in zip(FAMILIES, written_models(), strict=True):
        copytree(written, folder / "models" / model)
    for name, n_items in N_ITEMS.items():
        rows = [_row(name, number) for number in range(n_items)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text)
    config: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    temperatures = sorted({temperature for _, temperature, _ in truth.share})
    config |= {
        "engine": "transformers",
        "seed": truth.seed,
        "temperatures": temperatures,
        "models": {
            name: {"source": f"./models/{name}", "dtype": "float32", "max_model_len": 2048}
            | {"family": family}
            for name, family in FAMILIES.items()
        },
        "run": {"perturbations": ["none", "truncate"], "judges": ["heuristic"]},
        "datasets": {
            "sums": {
                "file": "sums.jsonl",
                "fields": {"id": "id", "prompt": "question", "reference": "answer"},
                "verifier": "numeric",
            },
            "talks": {
                "file": "talks.jsonl",
                "fields": {"id": "id", "messages": "messages"},
                "verifier": "none",
            },
        },
        "controls": {"human": [], "planted": 0, "chance_floor": 50},
        "likelihood": {"datasets": ["talks"], "turns": 10, "distractors": 2},
    }
    config["answer"] = {**config["answer"], "max_tokens": 60}
    config["user_turn"] = {**config["user_turn"], "max_tokens": 60}
    config["perturbations"]["truncate"] = {"operator": "truncate", "keep": 0.5}
    config["humans"] |= {
        "from": {"temperatures": temperatures, "perturbations": ["none", "truncate"]},
        "turns": N_LABELS * len(FAMILIES),
        "minimum_per_family": 0,
    }
    return config


def _row(dataset: str, number: int) -> dict[str, Any]:
    item = f"{dataset}-{number:03d}"
    question = f"Here is {item}. What is {number} and nothing?"
    if dataset == "sums":
        return {"id": item, "question": question, "answer": str(number)}
    said = [question, f"This is about {item}. It is {number}.", f"Why is {item} so?"]
    roles = ("user", "assistant", "user")
    return {
        "id": item,
        "messages": [
            {"role": role, "content": text} for role, text in zip(roles, said, strict=True)
        ],
    }
