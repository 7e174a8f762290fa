"""The endpoint, journal and account that one job uses to ask a judge."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from userturn.endpoints.budget import Account
from userturn.judges.chat_endpoint import ChatEndpoint
from userturn.judges.decide import Read
from userturn.judges.decisions import Decisions
from userturn.logs import say


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

    endpoint: ChatEndpoint
    read: Read
    decisions: Decisions
    account: Account
    about: str

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Say first whether the cap holds, and at the end how many replies were not metered."""
        account = self.account
        is_served = self.endpoint.settings["serve"]
        if account.cap is not None and account.price is None and not is_served:
            say(f"{self.about}: the judge's entry has no price, so max_cost does not stop it")
        yield
        if n := account.spent.n_unmetered:
            say(f"{self.about}: {n} replies without token counts; each counts as the maximum")
