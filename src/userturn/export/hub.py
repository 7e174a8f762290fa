"""Push a study's open rows to the hub, as a dataset, by the hub's own client."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from userturn.errors import UserError
from userturn.export.dataset_folder import PARTS, write_dataset_folder

REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def push_to_hub(results: Path, name: str, warning: str | None) -> str:
    """Write the dataset folder of a study and upload it; what a new repository holds is private.

    Args:
        results: folder of a finished study.
        name: `organisation/name` of the dataset's repository.
        warning: what the card says of rates that are no findings.

    Raises:
        UserError: as `write_dataset_folder`, another form of name, or the hub's refusal.
    """
    if not REPOSITORY.fullmatch(name):
        raise UserError(f"--hub is '{name}', expected organisation/name of a dataset on the hub")
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi()
    with TemporaryDirectory(prefix="userturn-") as scratch:
        folder = Path(scratch) / "rows"
        write_dataset_folder(results, folder, warning)
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
    return (
        f"{pushed.commit_url}: user turns, verdicts and rates, without rows of private datasets; a "
        "new repository is private until you make it public"
    )
