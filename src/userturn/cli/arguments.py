"""Arguments that several commands take, and the paths that a sandboxed one opens."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from huggingface_hub.constants import HF_HUB_CACHE

from userturn.config.entries import Config
from userturn.config.formats import DEFAULT, check_formats, format_of, model_of, models_in_formats
from userturn.config.load import CONFIG, files_of_last_run, installed, load_config, load_study
from userturn.config.trust import is_of_this_folder, named_files
from userturn.errors import ConfigError, UserError, near_miss
from userturn.export.read_archive import LEFT_OUT, check_is_there, results_in
from userturn.models.fetch import local_path
from userturn.sources.registry import check_study
from userturn.storage.files import paths_below
from userturn.study.grid import Grid
from userturn.study.record import RECORD, read_study_record


def take_results(
    command: argparse.ArgumentParser, what: str = "results folder of the study"
) -> None:
    """Add the argument for a study's results (default `results`); its help is `what`."""
    where = Path("results")
    command.add_argument(
        "results", type=Path, nargs="?", default=where, help=f"{what}; default: {where}"
    )


def take_own_configuration(command: argparse.ArgumentParser) -> None:
    """Add the options for configuration files of the user's own study, and for trusting another."""
    take_configfile(command, "files of the study besides config.yaml, to show that it is your own")
    command.add_argument(
        "--trust",
        metavar="HASH",
        help="hash of the list of what a study that is not yours does, once you have read it",
    )


def take_configfile(
    command: argparse.ArgumentParser,
    what: str = "files merged over config.yaml; default: those of the last run",
) -> None:
    """Add the option for configuration files; its help is `what`."""
    command.add_argument("--configfile", nargs="+", default=[], metavar="FILE", help=what)


def take_configuration(command: argparse.ArgumentParser) -> None:
    """Add the options for configuration files merged over config.yaml, and for the results."""
    take_configfile(command)
    command.add_argument(
        "--results", default="results", help="results folder of the study; default: results"
    )


def take_server(command: argparse.ArgumentParser) -> None:
    """Add the options for a server that has the model."""
    command.add_argument(
        "--server", metavar="URL", help="address of a server with the model, up to /v1"
    )
    command.add_argument(
        "--api",
        choices=("completions", "chat"),
        default="completions",
        help="API of that server; default: completions. A chat API takes any name of a model, and "
        "the model is told to play the user",
    )
    command.add_argument("--served-as", metavar="NAME", help="name of the model on the server")


def take_profile(command: argparse.ArgumentParser) -> None:
    """Add the option for the folder of the profile by which Snakemake runs on a cluster."""
    command.add_argument(
        "--profile",
        type=Path,
        default=Path("slurm"),
        help="folder of the Snakemake profile; default: slurm",
    )


def study_config(configfiles: Sequence[str]) -> dict[str, Any]:
    """Return the study's configuration with the given files, or with those of the last run."""
    return load_study(configfiles or files_of_last_run())


def config_anywhere(configfiles: Sequence[str]) -> dict[str, Any]:
    """Return the study's configuration, or the installation's in a folder without one."""
    if Path(CONFIG).exists():
        return study_config(configfiles)
    return load_config([installed(CONFIG), *configfiles])


def chosen_grid(configfiles: Sequence[str], results: Path) -> Grid:
    """Return the grid of the given files, else of the results' record, else of the last run.

    Raises:
        UserError: `results` is missing or no folder, or the configuration cannot be run.
    """
    if results != Path("results"):  # which the first run may make
        check_is_there(results)
        if not results.is_dir():
            raise UserError(f"--results: '{results}' is a file, expected a folder; correct it")
    if not configfiles and (results / RECORD).is_file():
        return read_study_record(results).grid(results)
    config = study_config(configfiles)
    check_study(config)
    return Grid(config, results)


def select_model(config: Config, model: str) -> tuple[dict[str, Any], str]:
    """Return a configuration that runs only one model, and its name there, or raise ConfigError.

    `model` is a name in the configuration, which may have a format as in `name+format`, or a source
    from which an entry is made.
    """
    is_configured = model in config["models"]
    if not is_configured and model_of(model) in config["models"]:
        return _select_format(config, model)
    if not is_configured and "/" not in model and local_path(model) is None:
        raise ConfigError(
            f"'{model}' is neither a hub id such as org/name, nor a folder, a GGUF file or a model "
            f"of the configuration{near_miss(model, config['models'])}"
        )
    name = model if is_configured else "model"
    entry = config["models"][model] if is_configured else {"source": model}
    models = dict(config["models"]) | {name: entry}
    run = dict(config["run"]) | {"models": [name], "formats": [DEFAULT]}
    return dict(config) | {"models": models, "run": run}, name


def check_judge(name: str, judges: Iterable[str]) -> None:
    """Check that a command's judge is one of the study's, or raise ConfigError."""
    if name not in (judges := list(judges)):
        raise ConfigError(f"'{name}' is not a judge of the study{near_miss(name, judges)}")


def select_judge(config: Config, judge: str) -> dict[str, Any]:
    """Return a configuration with one of its judges as the only one, or raise ConfigError."""
    check_judge(judge, config["judges"])
    run = dict(config["run"]) | {"judges": [judge]}
    return dict(config) | {"run": run, "primary_judge": judge}


def _select_format(config: Config, name: str) -> tuple[dict[str, Any], str]:
    """Return a configuration that runs a model in a format beside `default`, and `model+format`."""
    run = dict(config["run"]) | {"models": [model_of(name)], "formats": [DEFAULT, format_of(name)]}
    chosen = dict(config) | {"run": run}
    check_formats(chosen)
    if name not in models_in_formats(chosen):
        raise ConfigError(
            f"'{name}': formats.{format_of(name)}.models does not name '{model_of(name)}'; add it"
        )
    return chosen, name


BESIDE = ("data", "models", LEFT_OUT)  # parts of a study beside its results


def opened_of(path: Path) -> list[Path]:
    """Return the paths that a sandboxed command may read: those of a study, and the hub's cache.

    If the folder around the results is the home folder or above it, only study files in it count.
    """
    check_is_there(path)
    paths = [path, Path(HF_HUB_CACHE)]
    if not path.is_dir():
        return paths
    results = results_in(path) or path
    folder = results.resolve().parent
    is_around_home = Path.home().resolve().is_relative_to(folder)
    paths += [folder / name for name in BESIDE] if is_around_home else [folder]
    return [*paths, results, *(_linked_paths(results) if is_of_this_folder(results) else [])]


def _linked_paths(results: Path) -> Iterator[Path]:
    """Yield the paths to which links and settings of the user's own study lead."""
    folder = results.resolve().parent
    for part in (results, folder / "data"):
        if part.is_dir():
            yield from (path.resolve() for path in paths_below(part) if path.is_symlink())
    try:
        record = read_study_record(results)
        named = named_files(record.config)
        files = [folder / file for files in record.contents.annotations.values() for file in files]
    except (UserError, LookupError, TypeError, AttributeError, ValueError):
        return  # the command says what is wrong
    yield from (folder / Path(name).expanduser() for name in named)
    yield from files
