"""What the community's validator would fetch from the network to read a crate."""

import json
from importlib.resources import files
from typing import Any

CRATE = "https://w3id.org/ro/crate/1.1/context"
RUNS = "https://w3id.org/ro/terms/workflow-run/context"


class Fetched:
    """A response of the two addresses that a crate's terms stand at."""

    status_code = 200

    def __init__(self, url: str) -> None:
        self.content = {CRATE: crate_context, RUNS: runs_context}[url]()
        self.headers = {"Content-Type": "application/ld+json"}

    def json(self) -> Any:
        return self.content


def crate_context() -> dict[str, Any]:
    """The newer context that rocrate has inside, with the names of 1.1 for Bioschemas' types."""
    text = files("rocrate").joinpath("data/ro-crate.jsonld").read_text("utf-8")
    return {
        "@context": {
            term: iri.replace("bioschemas.org/terms/", "bioschemas.org/")
            for term, iri in json.loads(text)["@context"].items()
        }
    }


def runs_context() -> dict[str, Any]:
    """The one term of it that is used here."""
    return {"@context": {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}}
