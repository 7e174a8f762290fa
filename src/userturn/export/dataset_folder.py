"""A study's rows as a folder that `datasets.load_dataset` reads, and as a dataset on the hub."""

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import yaml

from userturn.errors import UserError
from userturn.export.withheld import Written, open_cells, read_turns, read_verdicts, write_checked
from userturn.storage.files import write_text
from userturn.study.grid import Grid
from userturn.study.record import read_study_record
from userturn.wording import number_of

PARTS = {  # of the folder, each a configuration of `load_dataset`
    "user_turns": "one row for each user turn that a model wrote: `messages` is the conversation, "
    "`answer` the model's answer as it was shown, `prompt_text` the whole prompt, `text` the turn",
    "verdicts": "one row for each user turn and judge: its label, whether that is a genuine "
    "follow-up, the rationale; `label` is null where nothing could be read, with the reason",
    "rates": "the share of each label by each judge, `estimate` with its 95% limits `lower` and "
    "`upper`; the rates of genuine follow-ups are the rows of `genuine_followup`",
}
CARD = """---
{head}---
# User turns of language models

Language models answered and then wrote the *user* turn after their own answer; judges said whether
it is a genuine follow-up. Made with userturn; the study's archive has every step.

{warning}{parts}

A turn is named by `model`, `dataset`, `temperature`, `perturbation`, `item` and `sample` in all of
them. Judges: {judges}. Models: {models}.

The study's open datasets: {datasets}.
Files that quote rows of private datasets were left out; the rates are of all.

Licence: texts of a dataset and of a model are under the licence of that dataset or model.
"""


def write_dataset_folder(results: Path, folder: Path, warning: str | None) -> Written:
    """Write the rows that may be exported as Parquet files, with a data card and its warning.

    Raises:
        UserError: there is no finished study, the folder is not empty, or there is a secret.
    """
    grid = read_study_record(results).grid(results)
    cells = list(open_cells(grid))
    names = list(dict.fromkeys(cell.dataset for cell in cells))

    def write(where: Path) -> None:
        for name in names:
            own = [cell for cell in cells if cell.dataset == name]
            turns = (read_turns(grid, cell) for cell in own)
            verdicts = (table for cell in own for table in read_verdicts(grid, cell).values())
            _write(where / "user_turns" / f"{name}.parquet", turns)
            _write(where / "verdicts" / f"{name}.parquet", verdicts)
        rates = pl.read_parquet(results / "tables" / "rates.parquet")
        _write(where / "rates" / "rates.parquet", iter([rates]))
        write_text(data_card(grid, names, warning), where / "README.md")

    left_out = write_checked(folder, results, grid.config, write)
    why = "".join(f"; left out {path}: {reason}" for path, reason in left_out.items())
    message = (
        f"{folder}: user turns and verdicts of {len(names)} of "
        f"{number_of(len(grid.datasets), 'dataset')}{why}; "
        f'`datasets.load_dataset("{folder}", "user_turns")` reads them'
    )
    return Written(message, str(folder), len(names), len(left_out))


def _write(path: Path, parts: Iterator[pl.DataFrame]) -> None:
    """Write a table that comes in parts, with one part in memory at a time."""
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    first = next(parts).to_arrow()
    with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
        writer.write_table(first)
        for part in parts:
            writer.write_table(part.to_arrow().cast(first.schema))


def data_card(grid: Grid, datasets: list[str], warning: str | None) -> str:
    """Return the text of the folder's README, whose head names the files of each table."""
    configs = [
        {"config_name": part, "data_files": f"{part}/*.parquet", "default": part == "user_turns"}
        for part in (PARTS if datasets else ("rates",))
    ]
    head = {"license": "other", "tags": ["userturn"], "configs": configs}
    return CARD.format(
        head=yaml.safe_dump(head, sort_keys=False),
        warning=f"**{warning}**\n\n" if warning else "",
        parts="\n".join(f"- `{part}`: {what}." for part, what in PARTS.items()),
        judges=", ".join(grid.judges),
        models=", ".join(grid.models),
        datasets=", ".join(datasets) or "none",
    )


REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def push_to_hub(results: Path, name: str, warning: str | None) -> Written:
    """Write a study's dataset folder and upload it to `organisation/name`, which is private if new.

    Raises:
        UserError: as `write_dataset_folder`, or the name has another form, or the hub refuses.
    """
    if not REPOSITORY.fullmatch(name):
        raise UserError(f"--hub is '{name}', expected organisation/name of a dataset on the hub")
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi()
    with TemporaryDirectory(prefix="userturn-") as scratch:
        folder = Path(scratch) / "rows"
        written = write_dataset_folder(results, folder, warning)
        try:
            api.create_repo(name, repo_type="dataset", private=True, exist_ok=True)
            pushed = api.upload_folder(
                repo_id=name,
                folder_path=folder,
                repo_type="dataset",
                commit_message="User turns, verdicts and rates of a study",
                delete_patterns=[f"{part}/*.parquet" for part in PARTS],
            )
        except (HfHubHTTPError, OSError, ValueError) as error:
            raise UserError(
                f"the dataset '{name}' could not be pushed to the hub: {type(error).__name__}; "
                "check its name, that HF_TOKEN may write there, and the network"
            ) from error
    message = (
        f"{pushed.commit_url}: user turns, verdicts and rates, without rows of private datasets; a "
        "new repository is private until you make it public"
    )
    return written._replace(said=message, place=str(pushed.commit_url))
