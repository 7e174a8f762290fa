"""The verdicts of an endpoint: found in its journal, or asked for and journalled as they come.

A part of a cell is read twice, first to find the missing questions and then to ask them, so that
memory use grows neither with the cell nor with the number of questions.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from userturn.config.judge_keys import EndpointEntry
from userturn.endpoints.api_keys import read_key
from userturn.endpoints.concurrency import Pace
from userturn.errors import UserError
from userturn.judges.ask_missing import ask_missing, ask_without_journal
from userturn.judges.batch_files import LARGEST_BATCH, batches_of, open_batches
from userturn.judges.decisions import Decision, Decisions, decision_of, open_decisions
from userturn.judges.judge import CellToJudge, Judge
from userturn.judges.parse_reply import read_verdict
from userturn.judges.question import JudgePrompt, Question, ask_about_turn, load_prompt
from userturn.judges.session import ChatEndpoint, ReplyFormat, Session
from userturn.judges.verdict import ERROR, UserTurn, Verdict, together, verdict_schema
from userturn.storage.table_files import PART


def address_of(judge: Judge) -> str:
    """Return the URL of a judge's API, or raise UserError if only a job of its own serves it."""
    address = judge.settings.get("base_url")
    if address is None:
        raise UserError(
            f"judge '{judge.name}' is served by its own job, which left questions open; remove "
            f"'results/judging/{judge.name}.json' and run the same command again"
        )
    return str(address)


def open_endpoint(
    judge: Judge, schema: Mapping[str, Any], n_at_once: int, url: str | None = None
) -> ChatEndpoint:
    """Return a judge's endpoint, not yet open, at `url` if this job serves the model.

    Raises:
        UserError: the API key is missing, or nothing serves the judge.
    """
    settings = cast("EndpointEntry", judge.settings)
    response_format: Any = None
    if settings["reply"] == "json_schema":
        named = {"name": "reply", "strict": True, "schema": schema}
        response_format = {"type": "json_schema", "json_schema": named}
    elif settings["reply"] == "json_object":
        response_format = {"type": "json_object"}
    address = (url or address_of(judge)).rstrip("/")
    return ChatEndpoint(
        address, settings, read_key(judge.name, settings), Pace(n_at_once), response_format
    )


def json_format(judge: Judge) -> ReplyFormat:
    """Return the prompt, endpoint and reader of replies of a judge that is asked for JSON."""
    prompt = load_prompt(judge.settings)
    schema = verdict_schema(prompt.labels, judge.settings.get("rationale_characters"))
    return ReplyFormat(
        prompt,
        lambda url, n_at_once: open_endpoint(judge, schema, n_at_once, url),
        lambda reply: read_verdict(reply, prompt.labels),
    )


def questions_about(cell: CellToJudge, prompt: JudgePrompt) -> Iterator[Question | None]:
    """Yield the question of each draw about each turn, or None if the turn was never written."""
    for turn in cell.user_turns():
        for draw_prompt in prompt.draws:
            yield None if turn is None else ask_about_turn(draw_prompt, turn)


def keys_and_decisions(
    judge: Judge, prompt: JudgePrompt, cell: CellToJudge
) -> tuple[list[str | None], Decisions]:
    """Return the keys of all questions (None for a turn never written) and their decisions."""
    keys = _keys(prompt, cell)
    return keys, Decisions(judge.journal(cell.dataset), filter(None, keys))


def _keys(prompt: JudgePrompt, cell: CellToJudge) -> list[str | None]:
    asked = questions_about(cell, prompt)
    return [None if question is None else question.key for question in asked]


def lacks_any(judge: Judge, prompt: JudgePrompt, cell: CellToJudge) -> bool:
    """Return whether a cell or part of one has a question without a final decision.

    Decisions under former names are first added to the journal.
    """
    keys = filter(None, _keys(prompt, cell))
    return bool(open_decisions(judge, cell.dataset, keys).unfinished())


async def ask_about_cell(
    judge: Judge,
    endpoint: ChatEndpoint,
    reply_format: ReplyFormat,
    cell: CellToJudge,
    decisions: Decisions,
) -> None:
    """Ask a judge the missing questions about a cell or part of one."""
    name = cell.name(judge.results)
    about = f"judge {judge.name}: {name}{cell.which}"
    session = Session(endpoint, reply_format.read, decisions, judge.account(name), about)
    await ask_judge(session, filter(None, questions_about(cell, reply_format.prompt)))


async def ask_judge(session: Session, questions: Iterable[Question]) -> None:
    """Ask a judge the missing questions, each by itself or in batches as its entry says.

    Questions in a submitted batch are waited for in both cases, so that none is paid for twice.

    Raises:
        UserError: the endpoint is broken, or the hard cap forbids another request.
    """
    by_batch = session.endpoint.settings["batch"]
    if by_batch or batches_of(session.decisions.folder):
        from userturn.judges.batch_api import ROUNDS, ask_by_batch  # openai: 2 s

        all_questions = list(questions) if by_batch else []
        ask_by_batch([(session, lambda: all_questions)], ROUNDS if by_batch else 0)
    if not by_batch:
        async with session.endpoint:
            with session.watched():
                await ask_missing(session, questions)


def endpoint_verdicts(
    judge: Judge, reply_format: ReplyFormat, cell: CellToJudge, n_at_once: int
) -> Iterator[tuple[CellToJudge, list[Verdict]]]:
    """Yield the parts of a cell with an endpoint's verdicts, asking the missing questions.

    Raises:
        UserError: the endpoint is broken, the hard cap is reached, or too many questions about the
            cell ended in an error or without a verdict. Finished decisions are in the journal.
    """
    endpoint: ChatEndpoint | None = None  # one for all parts, to keep its pace
    reasons: list[str | None] = []
    name = cell.name(judge.results)
    for part in cell.parts(LARGEST_BATCH if judge.settings["batch"] else PART):
        keys = _keys(reply_format.prompt, part)
        decisions = open_decisions(judge, part.dataset, filter(None, keys))
        if not _is_settled(judge, keys, decisions):
            endpoint = endpoint or reply_format.open_endpoint(address_of(judge), n_at_once)
            asyncio.run(ask_about_cell(judge, endpoint, reply_format, part, decisions))
        verdicts = _verdicts_in_journal(reply_format.prompt, keys, decisions)
        reasons += [verdict.unscored_reason for verdict in verdicts]
        yield part, verdicts
    check_error_share(judge, name, reasons)
    _check_unscored_share(judge, name, reasons)


def _is_settled(judge: Judge, keys: Sequence[str | None], decisions: Decisions) -> bool:
    """Return whether a part of a cell needs no asking.

    A judge with one job for all cells has asked in that job. Its errors are not asked again per
    cell, unless the Batch API left too many. A part with an open batch is not settled.
    """
    if open_batches(decisions.folder):
        return False
    standing = [decisions.get(key) for key in keys if key is not None]
    outcomes = ["unclear" if one is None else one.outcome for one in standing]
    n_errors = outcomes.count("error")
    if judge.settings["serve"]:
        return None not in standing
    if judge.settings["batch"] and n_errors <= judge.max_error_share * len(standing):
        return "unclear" not in outcomes
    return n_errors == 0 and "unclear" not in outcomes


def verdicts_in_journal(judge: Judge, prompt: JudgePrompt, cell: CellToJudge) -> list[Verdict]:
    """Return the verdicts on a cell in a judge's journal."""
    return _verdicts_in_journal(prompt, *keys_and_decisions(judge, prompt, cell))


def ask_about_turns(
    judge: Judge, reply_format: ReplyFormat, turns: Sequence[UserTurn], paid_by: str
) -> list[Verdict]:
    """Return a verdict on each turn without a journal, or raise UserError if it cannot ask."""
    endpoint = reply_format.open_endpoint(address_of(judge), judge.settings["concurrency"])
    questions = [
        ask_about_turn(draw_prompt, turn)
        for turn in turns
        for draw_prompt in reply_format.prompt.draws
    ]
    account = judge.account(paid_by)
    records = asyncio.run(ask_without_journal(endpoint, reply_format.read, account, questions))
    return _verdict_of_each_turn(
        reply_format.prompt, [_verdict(decision_of(record)) for record in records]
    )


def _verdicts_in_journal(
    prompt: JudgePrompt, keys: Iterable[str | None], decisions: Decisions
) -> list[Verdict]:
    """Return one verdict per turn from a journal's decisions, an empty one for a missing turn."""
    draws = [Verdict(None, None) if key is None else _verdict(decisions.get(key)) for key in keys]
    return _verdict_of_each_turn(prompt, draws)


def _verdict_of_each_turn(prompt: JudgePrompt, draws: Sequence[Verdict]) -> list[Verdict]:
    n = len(prompt.draws)
    return [together(draws[start : start + n]) for start in range(0, len(draws), n)]


def _verdict(decision: Decision | None) -> Verdict:
    if decision is None or decision.outcome in ("error", "unclear"):
        return Verdict(None, None, f"{ERROR}{decision.reason if decision else 'not asked'}")
    if decision.content is None:
        return Verdict(None, None, decision.reason)
    content = decision.content
    return Verdict(content["label"], content["rationale"], None, content.get("probabilities"))


def check_error_share(judge: Judge, what: str, reasons: Sequence[str | None]) -> None:
    """Raise a UserError if the share of errors is over the judge's `max_error_share`."""
    errors = [reason for reason in reasons if reason is not None and reason.startswith(ERROR)]
    if len(errors) > judge.max_error_share * len(reasons):
        raise UserError(
            f"judge {judge.name}: {what}: {len(errors)} of {len(reasons)} questions ended in an "
            f"error, max_error_share allows {judge.max_error_share:g}; the first: {errors[0]}; the "
            "other decisions are in the journal: run the same command again to ask for the rest"
        )


def _check_unscored_share(judge: Judge, what: str, reasons: Sequence[str | None]) -> None:
    unscored = [reason for reason in reasons if reason is not None]
    if len(unscored) > judge.max_unscored_share * len(reasons):
        raise UserError(
            f"judge {judge.name}: {what}: {len(unscored)} of {len(reasons)} questions ended "
            f"without a verdict, max_unscored_share allows {judge.max_unscored_share:g}; the "
            f"first: {unscored[0]}; correct the judge's entry, or raise max_unscored_share, and "
            f"run the same command again; `userturn rejudge {judge.name}` before it asks about "
            "them again"
        )
