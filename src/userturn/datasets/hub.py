"""Read a split of a dataset on the hub row by row, as far as it is needed.

`datasets` knows which files make up a configuration and its splits, in which form, and fetches
them piece by piece. Nothing of it is kept: the items are.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from userturn.datasets.columns import OF_MODELS, no_column
from userturn.datasets.rows import Row
from userturn.disk_space import is_full_disk
from userturn.errors import UserError

GATED = "is a gated dataset"  # what `datasets` says of one, and of no other
LONGEST = 200  # characters shown of what the client says


def hub_rows(settings: Mapping[str, Any], named: Iterable[str]) -> Iterator[tuple[str, Row]]:
    """Yield the rows of an entry's split with their places, in the order of its files.

    Args:
        settings: the entry: `hub`, `revision`, and maybe `config`, `split` and `files`.
        named: the columns that are wanted, `outer.inner` for a nested one.

    Raises:
        UserError: the split cannot be read: it is gated, not there, not reached, or no table.
    """
    what = f"the hub's dataset {settings['hub']}"
    try:
        rows = _opened(settings)
        if rows.column_names:
            rows = rows.select_columns(_wanted(rows.column_names, named, what))
        for number, row in enumerate(rows, start=1):
            yield f"{what}, row {number}", row
    except UserError:
        raise
    except Exception as error:  # of the client, of what it reads, of the network
        if is_full_disk(error) or isinstance(error, MemoryError):
            raise
        raise UserError(f"{what} at {settings['revision']} {_said(error)}") from error


def _opened(settings: Mapping[str, Any]) -> Any:
    from datasets import load_dataset

    split, files = settings.get("split", "train"), settings.get("files")
    return load_dataset(
        settings["hub"],
        settings.get("config"),
        revision=settings["revision"],
        data_files=None if files is None else {split: files},
        split=split,
        streaming=True,
    )


def _wanted(names: Iterable[str], named: Iterable[str], what: str) -> list[str]:
    """Return the top columns that have the wanted ones."""
    known = list(names)
    found = {name: name if name in known else name.partition(".")[0] for name in named}
    for name, top in found.items():
        if top not in known and name not in OF_MODELS:
            raise no_column(name, known, what)
    return sorted(set(found.values()) & set(known))


def _said(error: Exception) -> str:
    """Return why a split cannot be read, and what to do."""
    text = " ".join(str(error).split())
    if GATED in text:
        return (
            "is gated: accept its terms on its page on the hub, then give your token by `hf auth "
            "login` or the environment variable HF_TOKEN, and run the same command again"
        )
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return (
        f"cannot be read ({type(error).__name__}: {shown}); check hub, revision, config, split and "
        "files in the dataset's entry, the network, and the access of your hub token"
    )
