"""What is known of a model before anything is spent: revision, hashes, header and stops."""

import hashlib
import json
from pathlib import Path
from typing import Any

from userturn.fingerprints import fingerprint
from userturn.grid import Grid
from userturn.models import model_folder, source_identity
from userturn.tables import written_whole
from userturn.templates import load_template


def describe_model(grid: Grid, model: str, path_to_description: str | Path) -> None:
    """Write what a study needs to know of a model: its revision, its hashes, header and stops."""
    line = grid.models[model]
    folder = model_folder(line["source"], line["revision"])
    template = load_template(folder, line, grid.config["today"])
    ask = [{"role": "user", "content": "What is two and two?"}]
    probe = template.probe_prompt(ask, "Two and two make four.")
    description = {
        "source": line["source"],
        "revision": _commit(folder, line["revision"]),
        "identity": {
            "source": source_identity(line["source"], _commit(folder, line["revision"])),
            "tokenizer_sha256": _tokenizer_sha256(template.tokenizer),
            "template_sha256": fingerprint(template.tokenizer.chat_template),
        },
        "user_header": template.user_header_text,
        "stop": [template.tokenizer.convert_ids_to_tokens(i) for i in template.stop_token_ids],
        "stop_token_ids": template.stop_token_ids,
        "example_prompt": probe.text,
    }
    with written_whole(path_to_description) as temporary:
        temporary.write_text(json.dumps(description, indent=1, ensure_ascii=False) + "\n")


def _commit(folder: Path, revision: str) -> str:
    """Return the commit of a hub snapshot, from its folder's name; elsewhere the revision."""
    return folder.name if folder.parent.name == "snapshots" else revision


def _tokenizer_sha256(tokenizer: Any) -> str:
    """Return the sha256 of a tokenizer's vocabulary and rules."""
    return hashlib.sha256(tokenizer.backend_tokenizer.to_str().encode()).hexdigest()
