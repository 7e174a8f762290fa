"""Where the workflow is installed, and the configuration files of a study in the present folder.

A clone has the whole configuration and its schema. A study's own folder (`userturn new`) has a
short `config.yaml`, which is merged over that of the installation.
"""

from pathlib import Path

from userturn.config.errors import ConfigError

INSTALLATION = Path(__file__).resolve().parents[3]
CONFIG, SCHEMA = "config.yaml", "config.schema.yaml"


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
    if Path(SCHEMA).is_file() or not own.is_file():
        return [own]
    return [installed(CONFIG), own]


def here_or_installed(path: str | Path) -> Path:
    """Return a file of the present folder if it is there, otherwise the installation's."""
    return Path(path) if Path(path).is_file() else installed(str(path))
