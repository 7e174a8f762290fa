"""Get a dataset: a local file, a file of a pinned revision on the hub, or a split row by row.

Only `fetch`, `hub_rows` and `newest_split` use the network, `fetch` only for files that are not in
the hub's cache.
The package `datasets` knows the files of a split and their form, and streams them piece by piece.
Of a split only the items are kept.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from userturn.config.entries import entries_by_language, saved_files
from userturn.config.load import DETECTOR_KEY
from userturn.datasets.rows import OF_MODELS, Row, no_column
from userturn.endpoints.hub_errors import hub_answers, missing_from_hub
from userturn.errors import UserError, is_full_disk, near_path
from userturn.storage.files import read_text
from userturn.storage.hashing import check_sha256, file_sha256, fingerprint

OF_HUB = ("hub", "revision", "file")
OF_SPLIT = ("config", "split", "files")
# The keys of a dataset's entry that affect its items, besides the content of its file.
SHAPES_ITEMS = (
    *("fields", "roles", "columns", "turns", "language", "limit", "seed"),
    *("condition", "instruction", "judge"),
)


def complete(entry: Mapping[str, Any], study: Mapping[str, Any], ids: int = 1) -> dict[str, Any]:
    """Return a dataset's entry with the text of its instruction and the study's settings for items.

    `ids` is 2 if an id from content is made of messages alone.
    """
    settings = dict(entry)
    if ids == 2 and not {"id", "tree"} & settings["fields"].keys():
        settings["content_ids"] = ids
    if "instruction" in settings:
        text = read_text(settings["instruction"]).strip()
        settings["instruction"] = f"\n\n{text}"
    if "limit" in settings:
        settings.setdefault("seed", study["seed"])
    if "language" in settings and DETECTOR_KEY in study:
        settings[DETECTOR_KEY] = study[DETECTOR_KEY]
    return settings


def shaping(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings that affect the items; a local or hashed file counts by content alone."""
    shaped = {key: value for key, value in settings.items() if key in SHAPES_ITEMS}
    if "hub" not in settings:
        hashes = {key: _sha256(one["file"]) for key, one in entries_by_language(settings).items()}
        content: Any = hashes.get(None) or hashes
    else:
        named = [settings[key] for key in OF_HUB if key in settings]
        split = {key: settings[key] for key in OF_SPLIT if key in settings}
        content = settings.get("sha256") or [*named, *([split] if split else [])]
    shaped |= {key: settings[key] for key in ("content_ids", DETECTOR_KEY) if key in settings}
    if "problem" in settings["fields"]:
        shaped["ids"] = "by problem"  # an earlier version did not write problems into ids
    return shaped | {"content": content}


def _sha256(path: str) -> str:
    if Path(path).is_file():
        return file_sha256(path)
    return fingerprint([file_sha256(file) for file in saved_files(Path(path))])


def fetch(settings: Mapping[str, Any]) -> Path:
    """Return the path of a dataset's file, downloaded if the hub's cache does not have it.

    Raises:
        UserError: the file is found neither locally nor on the hub, or has other content.
    """
    path = Path(settings["file"])
    if "hub" in settings:
        path = _from_hub(settings)
    elif not path.exists():
        raise UserError(
            f"dataset file '{path}' does not exist; correct `file` in the dataset's entry"
            f"{near_path(path)}"
        )
    if "sha256" in settings:
        check_sha256(path, settings["sha256"])
    return path


def local_file(settings: Mapping[str, Any]) -> Path | None:
    """Return the path of a dataset's file if it is local or in the hub's cache, else None."""
    if "hub" not in settings:
        path = Path(settings["file"])
        return path if path.exists() else None
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(
        settings["hub"], settings["file"], revision=settings["revision"], repo_type="dataset"
    )
    return Path(cached) if isinstance(cached, str) else None


def _from_hub(settings: Mapping[str, Any]) -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

    where = f" ('{settings['file']}' at {settings['revision']})"
    if local_file(settings) is None and not hub_answers():
        raise missing_from_hub("dataset", settings["hub"], None, where)
    try:
        return Path(
            hf_hub_download(
                settings["hub"],
                settings["file"],
                repo_type="dataset",
                revision=settings["revision"],
            )
        )
    except (EntryNotFoundError, HfHubHTTPError, OSError, ValueError) as error:
        if is_full_disk(error):
            raise
        raise missing_from_hub("dataset", settings["hub"], error, where) from error


SPLITS = ("test", "validation", "train")  # of which a study takes the first that exists


def newest_split(hub: str) -> dict[str, Any]:
    """Return the keys of an entry for a hub dataset: its newest commit, and one split.

    Raises:
        UserError: the hub has no such dataset, or does not answer.
    """
    from datasets import get_dataset_config_names, get_dataset_split_names
    from huggingface_hub import HfApi

    if not hub_answers():
        raise missing_from_hub("dataset", hub, None)
    try:
        revision = HfApi().dataset_info(hub).sha
        configs = get_dataset_config_names(hub, revision=revision)
        config = "default" if "default" in configs else configs[0]
        splits = get_dataset_split_names(hub, config, revision=revision)
    except Exception as error:  # of the client, of what it reads, of the network
        raise missing_from_hub("dataset", hub, error) from error
    split = next((name for name in SPLITS if name in splits), splits[0])
    named = {} if config == "default" else {"config": config}
    return {"hub": hub, "revision": revision, **named, "split": split}


def hub_rows(settings: Mapping[str, Any], named: Iterable[str] | None) -> Iterator[tuple[str, Row]]:
    """Yield the rows of an entry's split with their places, in the order of its files.

    Only the named columns are read, with `outer.inner` for a nested one, or all for None.

    Raises:
        UserError: the split is gated, missing, out of reach, or no table.
    """
    what = f"the hub's dataset {settings['hub']}"
    try:
        from datasets import load_dataset

        split, files = settings.get("split", "train"), settings.get("files")
        rows: Any = load_dataset(
            settings["hub"],
            settings.get("config"),
            revision=settings["revision"],
            data_files=None if files is None else {split: files},
            split=split,
            streaming=True,
        )
        if rows.column_names and named is not None:
            rows = rows.select_columns(_top_columns(rows.column_names, named, what))
        for number, row in enumerate(rows, start=1):
            yield f"{what}, row {number}", row
    except UserError:
        raise
    except Exception as error:  # of the client, of what it reads, of the network
        if is_full_disk(error) or isinstance(error, MemoryError):
            raise
        where = f" at {settings['revision']}"
        raise missing_from_hub("dataset", settings["hub"], error, where) from error


def _top_columns(names: Iterable[str], named: Iterable[str], what: str) -> list[str]:
    columns = list(names)
    tops = {name: name if name in columns else name.partition(".")[0] for name in named}
    for name, top in tops.items():
        if top not in columns and name not in OF_MODELS:
            raise no_column(name, columns, what)
    return sorted(set(tops.values()) & set(columns))


NOTES = Path("logs", "unusable_datasets")


def _note(dataset: str) -> Path:
    return NOTES / f"{dataset}.json"


@contextmanager
def noted_if_unusable(dataset: str, identity: str) -> Iterator[None]:
    """Note a dataset whose present content raises a `UserError` inside the block.

    The next run then sweeps without it. Otherwise it would hold up the others, because a sweep
    waits for all datasets of a model.
    """
    try:
        yield
    except UserError as error:
        with suppress(OSError):
            NOTES.mkdir(parents=True, exist_ok=True)
            note = {"identity": identity, "reason": str(error)}
            _note(dataset).write_text(json.dumps(note), "utf-8")
        raise
    _note(dataset).unlink(missing_ok=True)


def is_unusable(dataset: str, identity: str) -> bool:
    """Return whether a dataset was noted as unusable with its present content."""
    try:
        return bool(json.loads(_note(dataset).read_text("utf-8"))["identity"] == identity)
    except (OSError, ValueError, LookupError, TypeError):
        return False
