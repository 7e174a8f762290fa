"""The contents of the files that a study's identities depend on, which never depend on names.

A running study reads them from its files. An audited study has them in its record, since models
and licensed datasets are not part of the results.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from userturn.config.endpoint_models import engine_name, has_endpoint, served_as
from userturn.config.entries import Config, asked_judges, pair_rounds, prepared_datasets, selected
from userturn.config.families import seeded_recipe, trained_alike
from userturn.config.formats import (
    TEMPLATES_OWN,
    identifying_probe,
    model_of,
    models_in_formats,
    system_file,
)
from userturn.config.load import RUBRIC, RUBRIC_1
from userturn.config.model_keys import ModelEntry, identifying_vllm
from userturn.config.recipes import Recipe, endpoints_of, load_recipe
from userturn.config.trained_models import (
    ROUNDED_VERSION,
    as_trained,
    complete_entries,
    data_identity,
    described,
    training_identity,
)
from userturn.datasets.fetch import complete, shaping
from userturn.errors import ConfigError
from userturn.judges.kinds import complete_judges, judge_identity
from userturn.judges.rubric import rubric_sha256
from userturn.models.fetch import source_identity
from userturn.storage.files import read_artifact, read_text
from userturn.storage.hashing import file_sha256, fingerprint
from userturn.storage.journal import is_without_asks
from userturn.study.aliases import Aliases, read_object
from userturn.study.annotation_files import annotation_files


def operator_contents(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an operator's settings, with the text that it uses in place of its file's name.

    Raises:
        ConfigError: `choice` is beyond the lines of the file.
    """
    settings = dict(entry)
    path = settings.pop("texts", None)
    if path is not None:
        texts = read_text(path).splitlines()
        choice = settings.pop("choice", 1)
        if choice > len(texts):
            raise ConfigError(
                f"perturbations.{name}.choice: found {choice}, but '{path}' has {len(texts)} lines"
            )
        settings["text"] = texts[choice - 1]
    return settings


# Keys of a model's entry that shape its output by value. `source` and `revision` count by the files
# they lead to, `chat_template` and `system` by content, `answer` where answers are identified.
SHAPES_OUTPUT = (
    *("dtype", "max_model_len", "trust_remote_code"),
    *("enable_thinking", "user_header", "stop", "merge_system_message"),
    *("template_options", "header"),
)

LABELLED = "labelled"  # as a model, a dataset and a control
INJECTED = "injected"  # as a model, a dataset, and a source of turns of a known kind
LABELLED_TURNS = "data/labelled/turns.jsonl"
HARD_FAILURES = "data/controls/hard_failures.yaml"
HARDER_FAILURES = "data/controls/harder_failures.yaml"
REACTIONS = "data/reactions.yaml"
RULES = "rules"  # in the metadata of grades, since rules 2


@dataclass(frozen=True)
class RecordedContents:
    """The contents in a study's record, which the properties of `FileContents` explain."""

    models: Mapping[str, Mapping[str, Any]]
    datasets: Mapping[str, str]
    perturbations: Mapping[str, Mapping[str, Any]]
    judges: Mapping[str, Mapping[str, Any]]
    rubric: str
    annotations: Mapping[str, Mapping[str, str]]
    recipes: Mapping[str, Recipe]
    training_data: Mapping[str, list[dict[str, Any]]]
    texts: Mapping[str, str]
    labelled: str = ""  # empty in the record of a study older than the labelled turns
    hard_failures: str = ""  # empty in the record of a study older than these
    harder_failures: str = ""  # empty in a study with rubric 1, which keeps its planted turns
    reactions: str = ""  # empty without candidates
    embedder: str = ""  # empty in a study that has none
    places: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    ids: int = 1  # of the record of an earlier version
    grading: int = 1  # of the record of an earlier version

    @property
    def rubric_path(self) -> str:
        """The path of the annotators' rubric."""
        return RUBRIC if RUBRIC in self.texts else RUBRIC_1


def _system(entry: ModelEntry) -> dict[str, str]:
    """Return an entry's system prompt by its content, or nothing for the template's own."""
    path, system = system_file(entry), entry.get("system", TEMPLATES_OWN)
    if system == TEMPLATES_OWN:
        return {}
    return {"system": system if path is None else file_sha256(path)}


def _engine(config: Config, entry: ModelEntry) -> dict[str, str | None]:
    """Return the fields of an identity on the engine, without the number type of a server."""
    name: dict[str, str | None] = {"engine": engine_name(config, entry)}
    return {**name, "dtype": None, "served_as": served_as(entry)} if has_endpoint(entry) else name


class FileContents:
    """The present contents of a configuration's files, each read when needed."""

    def __init__(self, config: Config, results: str | Path = "results") -> None:
        """Take a checked configuration, and the results that may know its contents already."""
        self._config = config
        self._results = Path(results)
        self._aliases = Aliases(results)

    @cached_property
    def models(self) -> dict[str, dict[str, Any]]:
        """The identity of each model: source, settings, template, engine."""
        return {name: self._model(name) for name in described(self._config)}

    @cached_property
    def _entries(self) -> dict[str, ModelEntry]:
        return complete_entries(self._config, "results")

    def _model(self, name: str) -> dict[str, Any]:
        entry, aliases = self._entries[name], self._aliases
        if "recipe" in entry:
            source = f"trained:{self.training(model_of(name))}"
        else:
            source = source_identity(entry["source"], entry["revision"], aliases.folder_identity)
        return {
            **{key: value for key, value in entry.items() if key in SHAPES_OUTPUT},
            **_system(entry),
            **identifying_probe(entry),
            **identifying_vllm(entry),
            **_engine(self._config, entry),
            "source": source,
            "today": self._config["today"],
            **self._template(entry, source),
        }

    def _template(self, entry: ModelEntry, source: str) -> dict[str, str]:
        if not (path := entry.get("chat_template")):
            return {}
        digest, text = file_sha256(path), read_text(path)
        return {
            "chat_template": self._aliases.template_identity(digest, text, f"file for {source}")
        }

    def training(self, name: str) -> str:
        """Return the identity of a trained model's training.

        A training that an earlier version finished keeps that version's identity.
        """
        recipe, judges = self.recipes[name], complete_judges(self._config)
        asked = {judge: judge_identity(judges[judge]) for judge in endpoints_of(recipe).values()}
        parts = recipe, self._model(self._entries[name]["base"]), asked
        earlier = training_identity(*parts, ROUNDED_VERSION)
        is_earlier = self._trained(name).get("training") == earlier
        return earlier if is_earlier else training_identity(*parts)

    @cached_property
    def recipes(self) -> dict[str, Recipe]:
        """The recipe of each model that is trained here."""
        entries = self._entries.items()
        return {name: self._recipe(name, entry) for name, entry in entries if "recipe" in entry}

    def _recipe(self, model: str, entry: ModelEntry) -> Recipe:
        """Return a model's recipe, with the seed of its repetition.

        For a model that an earlier version trained, it is the recipe as that version shipped it.
        """
        recorded = self._trained(trained_alike(model, entry)).get("recipe")
        return seeded_recipe(as_trained(load_recipe(entry["recipe"]), recorded), entry)

    def _trained(self, model: str) -> dict[str, Any]:
        """Return the record of a model's training, empty if there is none."""
        return read_object(self._results / "training" / model / "training.json")

    @cached_property
    def training_data(self) -> dict[str, list[dict[str, Any]]]:
        """The identity of the files of each recipe, for the models that are described."""
        names = described(self._config)
        return {n: data_identity(self.recipes[n]) for n in names if n in self.recipes}

    @cached_property
    def datasets(self) -> dict[str, str]:
        """Fingerprint of everything that shapes the items of each dataset."""
        return {
            name: fingerprint(shaping(complete(entry, self._config, self.ids)))
            for name, entry in prepared_datasets(self._config).items()
        }

    @cached_property
    def ids(self) -> int:
        """The version of item ids: 1 if an earlier version began a journal, else 2.

        In version 2, an id from content is made of messages alone, and the donor of an item never
        has the same messages as the item.
        """
        journals = self._results / "journal"
        folders = {path.parent for path in journals.glob("*/*/[!.]*.jsonl")}
        of_models = (f for f in sorted(folders) if f.parent.name not in ("costs", "judges"))
        return 1 if any(map(is_without_asks, of_models)) else 2

    @cached_property
    def grading(self) -> int:
        """The version of the grading rules: 1 if an earlier version graded all answers, else 2.

        A study that grows is graded again as a whole, which asks no model.
        """
        pairs = product(models_in_formats(self._config), selected(self._config, "datasets"))
        paths = (self._results / "grades" / model / f"{name}.parquet" for model, name in pairs)
        noted = map(read_artifact, paths)
        return 1 if all(grades and RULES not in grades for grades in noted) else 2

    @cached_property
    def _places(self) -> dict[str, dict[str, str]]:
        models = {name: fingerprint(identity) for name, identity in self.models.items()}
        of_kind = {"models": models, "datasets": self.datasets}
        return {kind: self._aliases.places(kind, digests) for kind, digests in of_kind.items()}

    @cached_property
    def places(self) -> dict[str, dict[str, str]]:
        """The first names of renamed models and datasets, by kind and present name."""
        if not self._aliases.has_places:
            return {}  # and no file of a model or dataset is read for it
        other = {
            kind: {name: first_name for name, first_name in places.items() if first_name != name}
            for kind, places in self._places.items()
        }
        return {kind: places for kind, places in other.items() if places}

    def keep_aliases(self) -> None:
        """Write down the names and identities by which these contents are known."""
        self._aliases.keep(self._places)

    @cached_property
    def perturbations(self) -> dict[str, dict[str, Any]]:
        """Settings of each operator, with its text."""
        entries = selected(self._config, "perturbations")
        return {name: operator_contents(name, entry) for name, entry in entries.items()}

    @cached_property
    def judges(self) -> dict[str, dict[str, Any]]:
        """The parts of each asked judge's entry that shape its verdicts."""
        entries = complete_judges(self._config)
        return {name: judge_identity(entries[name]) for name in asked_judges(self._config)}

    @cached_property
    def rubric(self) -> str:
        """Sha256 of the labels of the annotators' rubric."""
        return rubric_sha256(Path(self.rubric_path).read_bytes().decode())

    @cached_property
    def rubric_path(self) -> str:
        """The path of the annotators' rubric."""
        return RUBRIC_1 if self._config["judge_defaults"]["rubric"] == RUBRIC_1 else RUBRIC

    @cached_property
    def annotations(self) -> dict[str, dict[str, str]]:
        """Sha256 of each file with labels, by round."""
        rounds = [*self._config["humans"]["rounds"], *pair_rounds(self._config)]
        return {name: {p: file_sha256(p) for p in annotation_files(name)} for name in rounds}

    @cached_property
    def texts(self) -> dict[str, str]:
        """Texts of the annotators' rubric, and of the rubrics and prompts of judges, by path."""
        judges = complete_judges(self._config)
        asked = [judges[name] for name in asked_judges(self._config)]
        paths = {entry[key] for entry in asked for key in ("rubric", "prompt") if key in entry}
        every = sorted({*paths, self.rubric_path})
        return {path: Path(path).read_text(encoding="utf-8") for path in every}

    @cached_property
    def labelled(self) -> str:
        """Sha256 of the project's labelled user turns, empty if no judge reads them."""
        controls = self._config["controls"]
        is_read = controls.get("labelled") or controls.get("injected")
        return file_sha256(LABELLED_TURNS) if is_read else ""

    @cached_property
    def hard_failures(self) -> str:
        """Sha256 of the texts of hard planted failures, empty if none is planted."""
        return file_sha256(HARD_FAILURES) if self._config["controls"]["planted"] else ""

    @cached_property
    def harder_failures(self) -> str:
        """Sha256 of the frames of harder planted failures, empty if none is planted."""
        is_older = self.rubric_path == RUBRIC_1
        return file_sha256(HARDER_FAILURES) if self.hard_failures and not is_older else ""

    @cached_property
    def reactions(self) -> str:
        """Sha256 of the user turns that are scored after candidates, empty if there are none."""
        return file_sha256(REACTIONS) if self._config["answer"].get("samples", 1) > 1 else ""

    @cached_property
    def embedder(self) -> str:
        """Identity of the embedder's files, empty if there is none."""
        entry = self._config.get("embedder")
        return source_identity(entry["source"], entry.get("revision")) if entry else ""


Contents = FileContents | RecordedContents
