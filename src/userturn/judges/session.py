"""What one job has at hand while it asks a judge: the endpoint, the journal and who pays."""

from dataclasses import dataclass

from userturn.judges.budget import Account
from userturn.judges.decide import Read
from userturn.judges.decisions import Decisions
from userturn.judges.http_client import Endpoint


@dataclass(frozen=True)
class Session:
    """One job's questions to one judge about one dataset.

    Attributes:
        endpoint: of the judge.
        read: reads its replies.
        decisions: of the judge's journal, about the keys of all questions.
        account: of the judge and cell.
        about: what is asked about, for messages.
    """

    endpoint: Endpoint
    read: Read
    decisions: Decisions
    account: Account
    about: str
