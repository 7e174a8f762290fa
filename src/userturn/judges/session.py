"""The endpoint, journal and account that one job uses to ask a judge."""

from dataclasses import dataclass

from userturn.judges.budget import Account
from userturn.judges.decide import Read
from userturn.judges.decisions import Decisions
from userturn.judges.http_client import Endpoint


@dataclass(frozen=True)
class Session:
    """One job's questions to one judge about one dataset.

    Attributes:
        endpoint: the judge's endpoint.
        read: parses its replies.
        decisions: the journal's decisions on the keys of all questions.
        account: account of the judge and cell.
        about: subject of the questions, for messages.
    """

    endpoint: Endpoint
    read: Read
    decisions: Decisions
    account: Account
    about: str
