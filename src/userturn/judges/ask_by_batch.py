"""Ask a judge through the Batch API: everything out first, then wait for all of it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import openai

from userturn.endpoints.api_keys import without_key
from userturn.endpoints.budget import cap_reached
from userturn.errors import UserError
from userturn.judges.batch_api import RETRIES, Batches, Refusal
from userturn.judges.batch_notes import BatchNotes
from userturn.judges.decisions import only_writer
from userturn.judges.question import Question
from userturn.judges.session import Session

Asked = tuple[Session, Callable[[], Iterable[Question]]]
ROUNDS = 2  # all questions, then the repairs and what had no reply
UNUSABLE = 20  # replies, and none that can be read: no repair is paid for


def ask_by_batch(asked: Sequence[Asked], n_rounds: int = ROUNDS) -> None:
    """Ask through the Batch API for what journals lack, and wait for the replies.

    Batches that an earlier job left open are waited for first.

    Args:
        asked: sessions, each of another dataset, and what makes their questions anew. The endpoints
            need not be open.
        n_rounds: how often to ask; 0 only waits for the open batches.

    Raises:
        UserError: the API cannot be used or refuses a batch, no reply can be read, or the hard cap
            forbids another request.
    """
    with ExitStack() as stack:
        pools = [stack.enter_context(_opened(*one)) for one in asked]
        for pool in pools:
            pool.session.decisions.refresh()
            for one in pool.notes.open():
                pool.session.account.reserve(one.most)
        _raise_refused([refusal for pool in pools for refusal in pool.collect_open()], False)
        for _ in range(n_rounds):
            _ask_round(pools)


@contextmanager
def _opened(session: Session, questions: Callable[[], Iterable[Question]]) -> Iterator[Batches]:
    """Yield the batches of a session; no other process asks about its dataset meanwhile."""
    endpoint, folder = session.endpoint, session.decisions.folder
    key = endpoint.key or "none"  # the client wants one
    transport = openai.DefaultHttpxClient(trust_env=not endpoint.is_here)
    client = openai.OpenAI(api_key=key, base_url=endpoint.url, max_retries=0, http_client=transport)
    reader = client.with_options(max_retries=RETRIES)
    with only_writer(folder), session.account, session.watched(), client:
        try:
            yield Batches(client, reader, session, BatchNotes(folder), questions)
        except openai.OpenAIError as error:
            text = without_key(f"{type(error).__name__}: {error}", endpoint.key)[:300]
            raise UserError(
                f"the Batch API cannot be used: {text}; run the same command again, nothing is "
                "submitted twice"
            ) from None


def _ask_round(pools: Sequence[Batches]) -> None:
    """Send what is not decided, wait for all of it, and send again what found a full queue."""
    left = [_unfinished(pool) for pool in pools]
    while any(left):
        sent = [pool.submit(keys) for pool, keys in zip(pools, left, strict=True)]
        if not any(sent):
            session = pools[0].session
            raise cap_reached(session.about, session.account.cap, sum(map(len, left)))
        refused = [pool.collect_open() for pool in pools]
        back = [{key for refusal in of_pool for key in refusal.keys} for of_pool in refused]
        was_any_answered = sum(map(len, back)) < sum(map(len, sent))
        _raise_refused([one for of_pool in refused for one in of_pool], was_any_answered)
        for pool, keys in zip(pools, sent, strict=True):
            _check_usable(pool, keys)
        left = [(keys - gone) | again for keys, gone, again in zip(left, sent, back, strict=True)]


def _unfinished(pool: Batches) -> set[str]:
    decisions = pool.session.decisions
    return {key for key in decisions.wanted if not decisions.is_finished(key)}


def _raise_refused(refused: Sequence[Refusal], was_any_answered: bool) -> None:
    """Refuse to go on after a refusal that no wait will mend."""
    for refusal in refused:
        if not (refusal.is_full and was_any_answered):
            raise UserError(
                f"the API refused a batch: {refusal.why}; correct what that names and run the same "
                "command again: the questions then go out in a new file"
            )


def _check_usable(pool: Batches, sent: set[str]) -> None:
    """Refuse to pay for repairs where no reply to a first question could be read."""
    decisions = pool.session.decisions
    reasons = [decisions.reason_of_first(key) for key in sorted(sent)]
    if len(reasons) >= UNUSABLE and None not in reasons:
        raise UserError(
            f"{pool.session.about}: none of {len(reasons)} replies of a batch can be used; the "
            f"first: {reasons[0]}; correct the judge's entry and run the same command again"
        )
