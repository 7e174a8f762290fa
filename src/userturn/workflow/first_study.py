"""A first study of a user's own model, made from its name and at most a file of questions.

All settings are derived from the model, the rows and the machine, and written into an ordinary
`config.yaml`, which the study uses from then on.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from userturn.config.formats import CHAT
from userturn.config.load import CONFIG, installed, load_config, read_config_file
from userturn.datasets.fetch import hub_rows, newest_split
from userturn.datasets.rows import read_rows
from userturn.errors import UserError, near_miss, near_path
from userturn.models.convert import adapter_base
from userturn.models.engine_setup import Setup
from userturn.models.fetch import (
    HUB_ID,
    check_model_folder,
    check_source,
    is_local,
    local_path,
    source_folder,
)
from userturn.models.machine import Machine, placed
from userturn.models.server_models import ServerModel, model_of_server
from userturn.storage.files import write_text
from userturn.workflow.columns import guessed_entry
from userturn.workflow.run_folder import about, check_is_new, write_study_folder

ROWS_READ = 10_000  # rows from which columns are guessed
ROWS = re.compile(r"\.(csv|tsv|jsonl?|parquet|arrow)(\.gz)?$")  # how files of rows are called
QUESTIONS = "data/questions"  # where a study's copy of its rows is
SHIPPED = "profiles/demo/study.yaml"  # its datasets need no file and no network
LONGEST_ANSWER, LONGEST_TURN = 2048, 512  # tokens; where the model takes short texts, its share
SHORT_ANSWER, SHORT_TURN = 512, 128  # tokens if no GPU writes them
SHARE_OF_ANSWER, SHARE_OF_TURN = 2, 8  # at most this part of what the model reads at once
UNSURE = ("study:", "max_cost:")  # beginnings of lines that another day or price may change


@dataclass(frozen=True)
class StudyArguments:
    """The arguments from which a first study is made.

    Attributes:
        model: a name of the shipped configuration, a hub id, a folder, a GGUF file, an adapter's
            folder, or the address of a server.
        data: a file, a folder that `save_to_disk` wrote, a name of the shipped configuration or a
            hub id, or None for the project's own items.
        judge: a judge of the shipped configuration, besides the one that needs no model.
        items: number of items.
        named: the columns that the user named, by their keys in `fields`.
        server: address of a server, if `model` is a source that somebody else serves.
        served_as: the model's name on that server.
        api: how the server is asked.
    """

    model: str
    data: str | None
    judge: str | None
    items: int
    named: Mapping[str, str | None]
    server: str | None
    served_as: str | None
    api: str


@dataclass(frozen=True)
class FirstModel:
    """The model of a first study: its name, its entry, and its setup if it is loaded here."""

    name: str
    entry: Mapping[str, Any]
    longest: int | None  # tokens of prompt and reply together, if known
    setup: Setup | None
    told: str  # what a user is told of it

    @property
    def is_quick(self) -> bool:
        """Whether a GPU or a server, and not this machine's CPU, writes the model's texts."""
        return self.setup is None or self.setup.gpus > 0


@dataclass(frozen=True)
class FirstDatasets:
    """The datasets of a first study, and the present path of the user's own rows."""

    entries: Mapping[str, Mapping[str, Any]]  # in its configuration
    told: str  # what a user is told of them
    file: Path | None = None


def shipped() -> dict[str, Any]:
    """Return the installation's configuration with the catalogue's datasets."""
    return load_config([installed(CONFIG)])


def short_name(source: str, names: Mapping[str, Any]) -> str:
    """Return a new name for a source, made from its last part in lower case."""
    last = Path(source).expanduser().resolve().name if is_local(source) else Path(source).name
    stem = ROWS.sub("", last.lower()).removesuffix(".gguf")
    name = re.sub(r"[^a-z0-9._-]+", "-", stem).strip("-._") or "mine"
    return f"my-{name}" if name in names else name


def first_model(
    arguments: StudyArguments, config: Mapping[str, Any], machine: Machine
) -> FirstModel:
    """Return the model of a first study, with what is written into its entry.

    Raises:
        UserError: the model is not found, its server does not answer, or nothing here can load it.
    """
    if arguments.model.startswith(("http://", "https://")) or arguments.server:
        return _served_model(arguments, config)
    models = config["models"]
    by_source = {_source(entry): name for name, entry in models.items()}
    name = arguments.model if arguments.model in models else by_source.get(arguments.model)
    source = _own_source(arguments.model, models) if name is None else _source(models[name])
    name = short_name(source, models) if name is None else name
    if source is None:
        raise UserError(
            f"'{name}' is trained here; run its study by `snakemake` (docs/posttraining)"
        )
    folder = source_folder(source, with_weights=False)
    base = adapter_base(folder)
    has_weights = is_local(source if base is None else base[0])
    folder = folder if base is None else source_folder(*base, with_weights=False)
    check_model_folder(folder)
    setup = placed(f"model '{name}'", folder, machine, has_weights)
    entry = {"source": source, "gpus": setup.gpus, "dtype": setup.dtype}
    entry |= {"max_model_len": setup.max_model_len} if setup.max_model_len else {}
    if "answer" in (own := models.get(name, {})) and isinstance(own, Mapping):
        n = min(own["answer"]["max_tokens"], (setup.max_model_len or LONGEST_ANSWER) // 2)
        entry["answer"] = {"max_tokens": n}
    cards = f"{setup.gpus} x {machine.gpus[0][0]}" if setup.gpus else "on the CPU"
    longest = setup.architecture.longest
    context = f", context {longest:,}" if longest else ""
    told = f"{source}{context}; {setup.engine} in {setup.dtype}, {cards}"
    return FirstModel(name, entry, setup.max_model_len, setup, told)


def _source(entry: Any) -> str:
    return str(entry if isinstance(entry, str) else entry["source"])


def _own_source(model: str, models: Mapping[str, Any]) -> str:
    """Return a model's source as entries have it, an absolute path or a hub id."""
    at = Path(model).expanduser()
    if at.exists() and (is_local(model) or at.is_dir() or not HUB_ID.fullmatch(model)):
        check_source(str(at.resolve()))
        return str(at.resolve())
    if local_path(model) is None and "/" not in model:
        raise UserError(
            f"'{model}' is neither a hub id such as org/name nor a folder, a GGUF file, an address "
            f"or a model of the shipped configuration{near_miss(model, models)}"
        )
    check_source(model)
    return model


def _served_model(arguments: StudyArguments, config: Mapping[str, Any]) -> FirstModel:
    """Return the model of a server, with the source that the server names if none is given."""
    url = arguments.server or arguments.model
    served: ServerModel = model_of_server(url, arguments.served_as)
    source = arguments.model if arguments.server else served.id
    if arguments.api != CHAT:  # prompts are written here, by the model's own template
        told = source if arguments.server else (served.root or source)
        source = _own_source(told, config["models"])
    entry: dict[str, Any] = {"source": source, "endpoint": url}
    entry |= {"served_as": served.id} if served.id != source else {}
    entry |= {"key_variable": served.key_variable} if served.key_variable else {}
    entry |= {"api": CHAT} if arguments.api == CHAT else {}
    if served.longest and arguments.api != CHAT:
        entry["max_model_len"] = served.longest
    description = f"{served.id} at {url}" + (
        f", context {served.longest:,}" if served.longest else ""
    )
    name = short_name(served.id, config["models"])
    return FirstModel(name, entry, served.longest, None, description)


def first_datasets(arguments: StudyArguments, config: Mapping[str, Any]) -> FirstDatasets:
    """Return the datasets of a first study, with what is written into their entries.

    Raises:
        UserError: the rows cannot be read, or no column can be identified as the prompt.
    """
    data = arguments.data
    if data is None:
        study = read_config_file(installed(SHIPPED))
        names = study["run"]["datasets"]
        share, more = divmod(arguments.items, len(names))
        limits = [share + (n < more) for n in range(len(names))]
        entries = {
            name: study["datasets"][name] | {"limit": limit}
            for name, limit in zip(names, limits, strict=True)
            if limit
        }
        return FirstDatasets(entries, f"{arguments.items} of the project's own; --data for yours")
    if data in config["datasets"]:
        return FirstDatasets({data: {"limit": arguments.items}}, f"{arguments.items} of {data}")
    name = short_name(data, config["datasets"])
    path = Path(data).expanduser()
    if path.exists():
        source, own = {"file": f"{QUESTIONS}/{path.resolve().name}"}, path
        rows = read_rows(path)
    elif is_local(data) or ROWS.search(data):
        raise UserError(
            f"--data: '{data}' does not exist; expected questions as CSV, JSON lines, Parquet or "
            f"Arrow, or a folder that `save_to_disk` wrote: correct the path{near_path(path)}"
        )
    elif "/" in data and HUB_ID.fullmatch(data):
        source, own = newest_split(data), None
        rows = hub_rows(source, None)
    else:
        near = near_path(path) or near_miss(data, config["datasets"])
        raise UserError(
            f"--data: '{data}' is neither a file, a folder or a hub id such as org/name, nor a "
            f"dataset of the shipped configuration{near}"
        )
    head = list(islice(rows, ROWS_READ + 1))
    guessed = guessed_entry(head[:ROWS_READ], arguments.named, len(head) <= ROWS_READ)
    n = arguments.items if len(head) > arguments.items else len(head)
    told = ", ".join(f"{key} '{column}'" for key, column in guessed["fields"].items())
    graded = "not graded" if guessed["verifier"] == "none" else f"graded by {guessed['verifier']}"
    entry = {**source, **guessed, "limit": arguments.items}
    return FirstDatasets({name: entry}, f"{n} of {data}: {told}; {graded}", own)


def study_text(
    arguments: StudyArguments, model: FirstModel, datasets: FirstDatasets, folder: Path
) -> str:
    """Return the text of the configuration file of a first study."""
    longest = model.longest or 8 * LONGEST_TURN
    answer = LONGEST_ANSWER if model.is_quick else SHORT_ANSWER
    turn = LONGEST_TURN if model.is_quick else SHORT_TURN
    judges = [
        "heuristic",
        *([arguments.judge] if arguments.judge not in (None, "heuristic") else []),
    ]
    lines = [
        "# A first study: `snakemake --cores all` goes on with it after any change here. What is",
        "# not said is as in the config.yaml of the installed userturn, which explains every key.",
        about(folder),
        "",
        "models:",
        f"  {model.name}: {_flow(model.entry)}",
        "",
        "datasets:",
        *(f"  {name}: {_flow(entry)}" for name, entry in datasets.entries.items()),
        "",
        "run:",
        f"  models: [{model.name}]",
        f"  datasets: [{', '.join(datasets.entries)}]",
        "  temperatures: [0, 1.0]  # of the user turn; the answer is always greedy",
        "  perturbations: [none]   # truncate and generic_question are known, too",
        f"  judges: [{', '.join(judges)}]  # heuristic needs no model, and is not validated",
        f"primary_judge: {judges[-1]}",
        *([f"engine: {model.setup.engine}"] if model.setup else []),
        "",
        f"answer: {{max_tokens: {min(answer, longest // SHARE_OF_ANSWER)}}}",
        f"user_turn: {{max_tokens: {min(turn, longest // SHARE_OF_TURN)}}}",
        "# Remove these lines to judge people's turns and score their follow-ups, both of the hub.",
        "controls: {human: []}",
        "likelihood: off",
        "# However many requests or verdicts fail, a first look ends; every table counts them.",
        "max_error_share: 1",
        "max_unscored_share: 1",
    ]
    return "\n".join([*lines, ""])


def _flow(value: Mapping[str, Any]) -> str:
    text = yaml.safe_dump(
        dict(value), default_flow_style=True, width=10_000, sort_keys=False, allow_unicode=True
    )
    return text.strip()


def is_begun(folder: Path, text: str) -> bool:
    """Return whether a folder already has this first study.

    Raises:
        UserError: the folder has another study or other files.
    """
    config = folder / CONFIG
    if not config.is_file():
        check_is_new(folder)
        return False
    if _sure(config.read_text("utf-8")) != _sure(text):
        raise UserError(
            f"'{config}' is of another study, or was changed; expected what these arguments give: "
            f"run `snakemake --cores all` in '{folder}' to go on with it, or give another --folder"
        )
    return True


@contextmanager
def new_first_study(folder: Path, text: str, file: Path | None) -> Iterator[None]:
    """Make the folder of a first study, and work in it.

    The folder gets its final name when the block ends, so that a study in a folder is complete.
    """
    target, before = folder.absolute(), Path.cwd()
    scratch = target.with_name(f".{target.name}.new")
    shutil.rmtree(scratch, ignore_errors=True)  # left by a kill
    try:
        write_study_folder(scratch)
        if file is not None:
            copy = scratch / QUESTIONS / file.resolve().name
            copy.parent.mkdir(parents=True)
            (shutil.copytree if file.is_dir() else shutil.copyfile)(file, copy)
        write_text(text, scratch / CONFIG)
        os.chdir(scratch)
        yield
        scratch.rename(target)
    except BaseException:
        os.chdir(before)
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def cap_cost(at_most: float) -> None:
    """Set `max_cost` of the new study in the present folder to the planned cost."""
    with Path(CONFIG).open("a", encoding="utf-8") as file:
        file.write(f"max_cost: {at_most:.2f}  # what it may cost at most, as planned\n")


def _sure(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(UNSURE)]
