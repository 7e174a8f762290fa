"""Read configuration files and merge them as Snakemake does.

A clone, and a study that is run again, have a whole configuration. A study's own folder
(`userturn new`) has a short `config.yaml`, which is merged over that of the installation. A study
that began with rubric 1 (without *arguably*) or with langdetect keeps it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import yaml

from userturn.config.families import repeat_trainings
from userturn.errors import ConfigError, near_path
from userturn.wording import kind_of

MERGE = "tag:yaml.org,2002:merge"  # the key `<<`, whose mapping others may override
TEMPLATE = "__use_yte__"  # the key that makes Snakemake take a file for a template
MOST_VALUES = 1_000_000  # of one file, its anchors written out; Snakemake copies them all
LIBRARY = Path(__file__).resolve().parents[1]
PACKED = LIBRARY / "installed"  # where setup.py puts the workflow of a wheel
INSTALLATION = PACKED if PACKED.is_dir() else LIBRARY.parents[1]
CONFIG = "config.yaml"
REGISTRATION = "preregistration.json"  # beside config.yaml
CATALOGUE = "data/catalogue.yaml"
IN_EVERY_WHOLE_ONE = frozenset(("model_defaults", "judge_defaults", "statistics"))
RUBRIC, RUBRIC_1 = "data/rubric_2.yaml", "data/rubric.yaml"  # people read them, too
RUBRICS = (RUBRIC, RUBRIC_1)
FORMER = {  # texts of rubric 1 by those of rubric 2
    RUBRIC: RUBRIC_1,
    "data/judge_prompt_2.txt": "data/judge_prompt.txt",
    "data/scored_prompt_2.txt": "data/scored_prompt.txt",
}
SINCE_RUBRIC_2 = ("arguable", "edited", "injected")  # keys of judges, and of controls
DETECTOR_KEY, FORMER_DETECTOR = "language_detector", "langdetect"


class _StrictLoader(yaml.SafeLoader):
    """A YAML loader that refuses duplicate keys, where PyYAML would take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):  # such as `no`, read as false, or 1.10, read as 1.1
                written = "" if isinstance(key, list | dict) else f" {key_node.value}"
                raise _fault(key_node, f"the key{written} is {key!r}, expected text; quote it")
            if key in seen:
                raise _fault(key_node, f"the key '{key}' is given twice")
            seen.add(key)
        return super().construct_mapping(node, deep)


def _fault(node: yaml.Node, problem: str) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark)


def _refuse(loader: yaml.SafeLoader, node: yaml.Node) -> None:
    kind = node.tag.rpartition(":")[2]
    raise _fault(node, f"a {kind}, expected text, a number, a list or keys; quote the value")


def _number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int | float:
    """Return a number, or refuse one that YAML reads otherwise than people do.

    YAML reads 1:30 as 90, and 010 as 8.
    """
    is_whole = node.tag.endswith(":int")
    value = loader.construct_yaml_int(node) if is_whole else loader.construct_yaml_float(node)
    if not isfinite(value):
        raise _fault(node, f"the number {value} is not finite")
    if ":" in node.value or re.match(r"[+-]?0\d", node.value):
        raise _fault(
            node, f"{node.value} means {value} in YAML, expected that number itself, or quotes"
        )
    return value


_StrictLoader.add_constructor("tag:yaml.org,2002:int", _number)
_StrictLoader.add_constructor("tag:yaml.org,2002:float", _number)
for _kind in ("timestamp", "binary", "set", "omap", "pairs"):  # not in JSON, as identities are
    _StrictLoader.add_constructor(f"tag:yaml.org,2002:{_kind}", _refuse)


def read_config_file(path: Path) -> dict[str, Any]:
    """Read one configuration file, which has each key once, or raise ConfigError."""
    if path == Path(CONFIG) and not path.exists():
        raise ConfigError(
            f"no study is in this folder (it has no '{CONFIG}'); change to a study's folder, or "
            "make one: `userturn run MODEL`, or `userturn new FOLDER`"
        )
    if not path.is_file():
        raise ConfigError(
            f"configuration file '{path}' does not exist or is not a file; run this in the "
            "project's folder, name targets before `--configfile`, or correct the path"
            f"{near_path(path)}"
        )
    content = _parsed(path)
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: holds {kind_of(content)}, expected keys with values")
    if TEMPLATE in content:
        raise ConfigError(f"{path}: found '{TEMPLATE}', expected plain YAML; write its values out")
    if _n_values(content, (), {}, str(path)) > MOST_VALUES:
        raise ConfigError(
            f"{path}: its anchors stand for over {MOST_VALUES} values; write out what is meant"
        )
    return content


def _parsed(path: Path) -> Any:
    try:
        return yaml.load(path.read_text("utf-8-sig"), _StrictLoader)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}); change its owner or mode"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: byte {error.start} is not UTF-8; save the file in UTF-8"
        ) from error
    except RecursionError as error:
        raise ConfigError(f"{path}: its lists are nested too deeply; fix it") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        if "'\\t'" in problem:
            problem = "a tab, expected spaces"
        raise ConfigError(f"{path}{line}: not YAML ({problem}); fix it") from error
    except ValueError as error:  # a date or number that does not exist
        reason = str(error).partition(";")[0]
        raise ConfigError(f"{path}: not YAML ({reason}); correct the value or quote it") from error


def _n_values(value: Any, above: tuple[int, ...], counted: dict[int, int], file: str) -> int:
    """Return how many values a value holds, itself included, with its anchors written out.

    `above` has the ids of the mappings and lists around it, `counted` the numbers counted before.
    """
    if not isinstance(value, dict | list):
        return 1
    if id(value) in above:
        raise ConfigError(f"{file}: an anchor contains itself; write its content out")
    if id(value) not in counted:
        parts = value.values() if isinstance(value, dict) else value
        within = (*above, id(value))
        counted[id(value)] = 1 + sum(_n_values(part, within, counted, file) for part in parts)
    return counted[id(value)]


def load_config(paths: Iterable[str | Path]) -> dict[str, Any]:
    """Read configuration files as Snakemake does: mappings are merged, lists replaced.

    The catalogue's datasets and the entries of repeated trainings are added.

    Raises:
        ConfigError: a file is missing or damaged, or is no configuration.
    """
    config: dict[str, Any] = {}
    for path in map(Path, paths):
        config = _merged(config, read_config_file(path))
    add_catalogue(config)
    repeat_trainings(config)
    return config


def load_study(configfiles: Iterable[str | Path] = ()) -> dict[str, Any]:
    """Return the configuration of the study in the present folder, with more files over its own."""
    config = load_config([*config_files(), *configfiles])
    keep_own_rubric(config)
    keep_own_detector(config)
    return config


NOTES = Path(".snakemake", "userturn")  # what is known of this folder's runs; never exported
LAST_RUN = NOTES / "configfiles.json"


def note_run(configfiles: Iterable[str | Path]) -> None:
    """Note the configuration files of a run, for later commands in the same folder."""
    here = Path.cwd()
    paths = [here / path for path in configfiles]  # a study's own move with its folder
    noted = [path.relative_to(here) if here in path.parents else path for path in paths]
    LAST_RUN.parent.mkdir(parents=True, exist_ok=True)
    LAST_RUN.write_text(json.dumps([str(path) for path in noted]))


def files_of_last_run() -> list[str]:
    """Return the paths of the last run's configuration files in this folder that still exist.

    They tell which study a command is about, but authorise nothing (`config.trust`).
    """
    try:
        noted = [str(path) for path in json.loads(LAST_RUN.read_text())]
    except (OSError, ValueError, TypeError):
        return []
    return [path for path in noted if Path(path).is_file()]


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**below, **above}
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(below.get(key), dict):
            merged[key] = _merged(below[key], value)
    return merged


def installed(name: str) -> Path:
    """Return the path of a file or folder of the installed workflow, or raise ConfigError."""
    path = INSTALLATION / name
    if not path.exists():
        raise ConfigError(
            f"'{path}' does not exist: this userturn was installed without its workflow; clone the "
            "project and run `make setup` there"
        )
    return path


def config_files() -> list[Path]:
    """Return the paths of the present folder's configuration files, in order of merging."""
    own = Path(CONFIG)
    return [own] if not own.is_file() or _is_whole(own) else [installed(CONFIG), own]


def _is_whole(path: Path) -> bool:
    """Return whether a configuration is whole, or cannot be read, and needs no other below it."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return True
    return {line.partition(":")[0] for line in lines} >= IN_EVERY_WHOLE_ONE


def catalogue() -> dict[str, dict[str, Any]]:
    """Return the catalogue's entries by name."""
    entries: dict[str, dict[str, Any]] = yaml.safe_load(installed(CATALOGUE).read_text("utf-8"))
    return entries


def add_catalogue(config: Mapping[str, Any]) -> None:
    """Add the catalogue's datasets to a configuration whose run selects datasets, in place.

    An entry without `file` and `hub` changes single keys of the catalogue's entry. Without a
    selection all datasets are run, so none is added. The configuration need not be valid yet.
    """
    run, own = config.get("run"), config.get("datasets")
    if isinstance(own, dict) and isinstance(run, Mapping) and "datasets" in run:
        for name, entry in catalogue().items():
            mine = own.get(name, {})
            if isinstance(mine, dict) and not {"file", "hub"} & mine.keys():
                own[name] = entry | mine


def has_rubric_1(results: Path) -> bool:
    """Return whether a study began with rubric 1, by its record.

    Without a record, the present folder tells, whose texts may come from an older version.
    """
    try:
        texts = json.loads((results / "study.json").read_bytes())["contents"]["texts"]
        return RUBRIC not in texts
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return not Path(RUBRIC).is_file() and Path(RUBRIC_1).is_file()


def keep_own_rubric(config: Mapping[str, Any], results: Path = Path("results")) -> None:
    """Give a configuration the texts of rubric 1 if its study began with it, in place.

    So judges and people are asked neither the same again nor anything more. The configuration
    need not be valid yet.
    """
    if not has_rubric_1(results):
        return
    judges = config.get("judges")
    entries = [config.get("judge_defaults"), config.get("controls")]
    for entry in [*entries, *(judges.values() if isinstance(judges, Mapping) else ())]:
        if isinstance(entry, dict):
            for key in SINCE_RUBRIC_2:
                entry.pop(key, None)
            entry |= {k: FORMER[v] for k, v in entry.items() if isinstance(v, str) and v in FORMER}


def detector_of(config: Mapping[str, Any]) -> str:
    """Return a study's language detector, by default the detector of earlier versions."""
    return str(config.get(DETECTOR_KEY, FORMER_DETECTOR))


def keep_own_detector(config: Mapping[str, Any], results: Path = Path("results")) -> None:
    """Give a configuration the language detector with which its study began, in place.

    So its items stay the same, and nothing is asked again. Without a record, the configuration
    stays as it is.
    """
    try:
        recorded = json.loads((results / "study.json").read_bytes())["config"]
        begun_with = detector_of(recorded)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return
    if begun_with == FORMER_DETECTOR and isinstance(config, dict):
        config.pop(DETECTOR_KEY, None)
