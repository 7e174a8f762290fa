"""Whether a file may leave the study: no withheld rows in it, and no secret."""

import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow as pa

from userturn.config.entries import Config
from userturn.errors import UserError
from userturn.export.secrets import Secret, key_values, secrets_in, texts_of
from userturn.export.withheld import Withholding
from userturn.wording import number_of
from userturn.workflow.run_folder import check_is_new


class Checked(NamedTuple):
    """The result of checking a file: why it must not be exported, and the secrets in it."""

    reason: str | None
    secrets: list[Secret]


def checked(path: Path, withholding: Withholding, values: Mapping[str, str]) -> Checked:
    """Check a file.

    Args:
        path: path of the file.
        withholding: what must stay.
        values: the result of `key_values`.

    Raises:
        UserError: the file cannot be read to its end.
    """
    secrets = []
    try:
        for texts in texts_of(path):
            reason = withholding.by_text(texts)
            if reason is not None:
                return Checked(reason, [])
            found = secrets_in(texts, values)
            secrets += [Secret(path, f"{texts.place} {number}", kind) for number, kind in found]
    except (OSError, pa.ArrowException) as error:
        raise UserError(
            f"'{path}' cannot be read to its end ({type(error).__name__}); `userturn audit` says "
            "how to fix it"
        ) from error
    return Checked(None, secrets)


def refuse(secrets: Iterable[Secret]) -> None:
    """Refuse to export secrets.

    Raises:
        UserError: there is one.
    """
    found = list(secrets)
    if found:
        raise UserError(
            f"{number_of(len(found), 'likely secret')}; the first is in '{found[0].path}', "
            f"{found[0].place} ({found[0].kind}); nothing was written: revoke that key and remove "
            "it from the file, or mark its dataset `export: false`"
        )


def write_checked(
    folder: Path, results: Path, config: Config, write: Callable[[Path], None]
) -> dict[str, str]:
    """Write files into a new folder, without those that must stay; return these with reasons.

    Args:
        folder: the new folder.
        results: the results folder whose rows are written.
        config: the study's configuration.
        write: writes all files into a folder.

    Raises:
        UserError: the folder is not empty, or there is a secret; then nothing is written.
    """
    check_is_new(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    withholding, values = Withholding(config, results), key_values(config)
    left_out = {}
    with TemporaryDirectory(dir=folder.parent) as scratch:
        whole = Path(scratch) / "whole"
        whole.mkdir()
        write(whole)
        for path in sorted(found for found in whole.rglob("*") if found.is_file()):
            reason, secrets = checked(path, withholding, values)
            refuse(secrets)
            if reason is not None:
                left_out[path.relative_to(whole).as_posix()] = reason
                path.unlink()
        shutil.copytree(whole, folder, dirs_exist_ok=True)
    return left_out
