"""Where the workflow is installed, and the configuration files of a study in the present folder.

A clone, and a study that is run again, have a whole configuration. A study's own folder
(`userturn new`) has a short `config.yaml`, which is merged over that of the installation.
"""

from pathlib import Path

from userturn.config.errors import ConfigError

INSTALLATION = Path(__file__).resolve().parents[3]
CONFIG = "config.yaml"
IN_EVERY_WHOLE_ONE = frozenset(("model_defaults", "judge_defaults", "statistics"))


def installed(name: str) -> Path:
    """Return a file or folder of the workflow's installation.

    Raises:
        ConfigError: the package was installed without the workflow's files.
    """
    path = INSTALLATION / name
    if not path.exists():
        raise ConfigError(
            f"'{path}' does not exist: this userturn was installed without its workflow; clone the "
            "project and run `make setup` there"
        )
    return path


def config_files() -> list[Path]:
    """Return the configuration files of the study in the present folder, in order of merging."""
    own = Path(CONFIG)
    return [own] if not own.is_file() or _is_whole(own) else [installed(CONFIG), own]


def _is_whole(path: Path) -> bool:
    """Return whether a configuration needs no other one below it; one that is broken does not."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return True
    return {line.partition(":")[0] for line in lines} >= IN_EVERY_WHOLE_ONE
