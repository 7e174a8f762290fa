"""What a study's record alone cannot authorise: running, reading or sending anything.

A record can come from anybody. The configuration in the working directory is the user's own and
must agree with it. A record names files (an instruction, a chat template, rows), and its names of
models and datasets become parts of paths. All of these are opened only inside the study's folder.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from userturn.config.entries import Config
from userturn.config.formats import model_of, system_file
from userturn.config.load import CONFIG, load_study
from userturn.errors import UserError

RESULTS = "results"
Rename = Callable[[str, str], str]  # key of the configuration and path there: the path to use
SECTIONS = ("models", "formats", "datasets", "judges", "perturbations")  # named definitions
SINGLE = ("model_defaults", "judge_defaults", "embedder")  # entries without a name
FILES = ("chat_template", "instruction", "rubric", "prompt", "texts")  # keys whose value is a file
NOWHERE = "./outside/of/the/study"  # where no file is


def is_of_this_folder(results: Path) -> bool:
    """Return whether a results folder belongs to the present folder, and so to the user.

    Without a configuration beside it, it comes from an archive that was unpacked here.
    """
    return results.resolve() == Path(RESULTS).resolve() and Path(CONFIG).is_file()


def why_not_own(
    results: Path, recorded: Mapping[str, Any], configfiles: Sequence[str] = ()
) -> str | None:
    """Return why a study does not belong to the present folder and configuration, or None.

    Args:
        results: the study's results folder.
        recorded: the configuration in its record.
        configfiles: the user's configuration files besides `config.yaml`.
    """
    if not is_of_this_folder(results):
        return f"is not the `{RESULTS}` of this folder with a {CONFIG} beside it"
    if others := list(_others(recorded, load_study(configfiles))):
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        hint = "" if configfiles else ", which `--configfile` may add to"
        return f"has other settings than {CONFIG} here{hint} ({others[0]}{more})"
    return None


def _others(recorded: Any, own: Any, key: str = "") -> Iterator[str]:
    """Yield the dotted keys whose recorded value the user's own configuration does not have."""
    if not (isinstance(recorded, Mapping) and isinstance(own, Mapping)):
        if recorded != own:
            yield key
        return
    for name, value in recorded.items():
        whole = f"{key}.{name}" if key else str(name)
        yield from _others(value, own[name], whole) if name in own else [whole]


def check_code_may_run(model: str, entry: Mapping[str, Any]) -> None:
    """Raise UserError if a model brings code that the user's own configuration does not trust."""
    config = load_study() if Path(CONFIG).is_file() else {}
    entry_here = config.get("models", {}).get(model_of(model))
    own = entry_here if isinstance(entry_here, Mapping) else {}
    same = own.get("source") == entry["source"] and own.get("trust_remote_code") is True
    if entry["trust_remote_code"] and not same:
        raise UserError(
            f"the model runs its own code; if you trust '{entry['source']}', put '{model}' with "
            f"that source and `trust_remote_code: true` into {CONFIG} where you run this"
        )


def _files(config: Config) -> list[tuple[str, str]]:
    files: list[tuple[str, str]] = []

    def note(key: str, path: str) -> str:
        files.append((key, path))
        return path

    for section in SECTIONS:
        for name, entry in (config.get(section) or {}).items():
            _entry(entry, f"{section}.{name}", note)
    for section in SINGLE:
        _entry(config.get(section), section, note)
    return files


def _entry(entry: Any, where: str, rename: Rename) -> Any:
    if isinstance(entry, str) and where.startswith("models."):
        return _source(entry, where, rename)
    if not isinstance(entry, Mapping):
        return entry
    changed = {**entry}
    for key in FILES:
        if isinstance(entry.get(key), str):
            changed[key] = rename(f"{where}.{key}", entry[key])
    if "system" in entry and (system := system_file(entry)) is not None:
        changed["system"] = rename(f"{where}.system", system)
    if isinstance(entry.get("source"), str):
        changed["source"] = _source(entry["source"], where, rename)
    if "hub" not in entry and "file" in entry:
        file, where = entry["file"], f"{where}.file"
        changed["file"] = (
            {language: rename(f"{where}.{language}", path) for language, path in file.items()}
            if isinstance(file, Mapping)
            else rename(where, str(file))
        )
    return changed


def _source(source: str, where: str, rename: Rename) -> str:
    is_file = source.startswith((".", "/", "~")) or source.endswith(".gguf")
    return rename(f"{where}.source", source) if is_file else source


def fault_of_path(path: str, folder: Path) -> str | None:
    """Return why a path in a stranger's study in `folder` must not be opened, or None."""
    if Path(path).is_absolute() or path.startswith("~"):
        return "not relative"
    try:
        target = (folder / path).resolve()
        if not target.is_relative_to(folder.resolve()):
            return "outside of the study"
        is_other = target.exists() and not (target.is_file() or target.is_dir())
    except (OSError, ValueError):  # too long, or with a byte that no name has
        return "no path"
    return "a pipe, a socket or a device" if is_other else None


def named_files(config: Config) -> list[str]:
    """Return the paths of the files and folders that a configuration names, as written there."""
    return [path for _, path in _files(config)]


def faults_of_paths(config: Config, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (key, path, reason) of each file in a stranger's configuration that is not opened.

    Models are left out: they may lie anywhere, and are compared only inside the study.
    """
    for key, path in _files(config):
        fault = fault_of_path(path, folder)
        if fault is not None and not key.endswith(".source"):
            yield key, path, fault


def confined(entry: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return a stranger's entry with each path that leads out of the study's folder replaced."""
    return dict(_entry(entry, "", lambda _, path: NOWHERE if fault_of_path(path, folder) else path))


def misleading_name(config: Config) -> str | None:
    """Return a name in a configuration that would lead out of a folder, or None."""
    run = config.get("run") or {}
    named = [name for section in SECTIONS for name in config.get(section) or {}]
    named += [name for names in run.values() if isinstance(names, list) for name in names]
    return next((name for name in map(str, named) if not is_part(name)), None)


def is_part(name: str) -> bool:
    """Return whether a name is one part of a path: a file or folder below another."""
    return name not in ("", ".", "..") and not set(name) & set("/\\\0")
