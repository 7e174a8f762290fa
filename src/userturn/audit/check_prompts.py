"""Do prompts and texts follow from the model's own tokenizer and chat template?

This needs the tokenizer and the chat template of a model, not its weights. All prompts of the study
are rendered again from items and answers, and all texts are decoded again from their tokens. A
study under another model's name, or with texts edited together with its journals, does not pass.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import polars as pl

from userturn.audit.check_rows import can_be_derived
from userturn.audit.findings import COMPARED, Finding, Item, Status, difference, not_compared
from userturn.audit.pair import artifact_path
from userturn.config.model_keys import ModelEntry
from userturn.config.trust import check_code_may_run
from userturn.errors import UserError
from userturn.generation.ask_engine import to_record
from userturn.generation.collect import ANSWERED, Shown, answers_shown
from userturn.generation.describe_model import other_formats, prompts_of, tokenizer_identity
from userturn.generation.other_names import OtherNames
from userturn.generation.plan_files import WHOLE, Plan, read_whole_plan
from userturn.generation.planner import Planner
from userturn.generation.scored_turns import turns_to_score
from userturn.generation.scorer import SCORING_PLAN_SCHEMA, Scorer
from userturn.generation.sweep_plan import SweepPlans
from userturn.models.fetch import folder_at_hand
from userturn.models.requests import Completion, scoring_request
from userturn.prompts.answer_layout import AnswerLayout
from userturn.prompts.chat_template import Template
from userturn.prompts.header import SHARED, header_of
from userturn.prompts.load_template import load_template
from userturn.prompts.template_checks import Other
from userturn.sources.registry import asked_of, judged
from userturn.sources.source import SCORES, Asked
from userturn.study.aliases import AsDescribed
from userturn.study.asks import NAMES, asks_of, scan_plans
from userturn.study.grid import Grid
from userturn.study.model_description import longest_text, read_description, request_identity
from userturn.study.record import StudyRecord, read_study_record
from userturn.workflow.study_files import FAULTS, Files

KEYS = ["item", "sample"]
UNNOTED = ["ask", "asked_as"]  # of scores: earlier versions have none


def check_prompts(results: Path) -> Iterator[Item]:
    """Render all prompts of a study and decode all its texts again.

    Each description of a model gets a status, and each plan that was compared.

    Raises:
        UserError: the folder has no record.
    """
    record, whole = read_study_record(results), results.resolve()
    grid, files = record.grid(whole), Files(whole, {})
    for model in grid.models:
        path = f"results/models/{model}.json"
        try:
            description = read_description(grid, model)
            template, others = _templates(grid, model, description)
        except FAULTS as error:
            yield not_compared(path, f"not rendered again: {error}")
            continue
        yield Status(path, COMPARED)
        noted, forms = description["identity"], description.get("forms", {})
        content_of = partial(AsDescribed(forms).template_identity, source=noted.get("source", ""))
        digests = tokenizer_identity(template, content_of)
        if any(noted.get(name) != digest for name, digest in digests.items()):
            source = grid.models[model]["source"]
            expected = f"the tokenizer and chat template of {source}"
            yield Finding("prompts", path, expected, "others")
            continue
        prompts = json.loads(json.dumps(prompts_of(template, others)))
        differing = [name for name in sorted(prompts) if description.get(name) != prompts[name]]
        if differing and files.other_code(path) is None:  # another version may describe less
            expected = f"{differing[0]} as tokenizer and chat template give it"
            yield Finding("prompts", path, expected, "another")
        else:  # a study keeps the header and ends of its description
            template = replace(template, record=description)
        identity = request_identity(grid, model, description)
        limit, asks = longest_text(grid, model, description), asks_of(grid, model)
        planner = Planner(identity, template, limit, grid.config["seed"], asks)
        try:
            yield from _plan_items(record, whole, model, planner)
            yield from _score_items(grid, model, planner)
        except FAULTS as error:
            reason = f"not rendered again: its files cannot be read ({type(error).__name__})"
            yield not_compared(path, reason)


def _templates(
    grid: Grid, model: str, description: Mapping[str, Any]
) -> tuple[Template, list[Other]]:
    entry = cast("ModelEntry", grid.opened(grid.models[model]))
    check_code_may_run(model, entry)
    for base in (grid.results.parent, Path.cwd()):
        with chdir(base):
            folder = folder_at_hand(entry["source"], description["revision"] or "main")
            if folder is not None:
                is_shared = header_of(description) == SHARED
                template = load_template(folder, entry, grid.config["today"], is_shared=is_shared)
                return template, other_formats(grid, model, folder, is_shared)
    raise UserError(
        f"the tokenizer of '{entry['source']}' is not on this machine; fetch the model, or audit "
        "without `--tokenizer`"
    )


@dataclass
class RecordedPlans(SweepPlans):
    """Plans made again from the tables of a finished study, and written to `grid`'s results.

    `study` is the grid of the finished study.
    """

    study: Grid = field(kw_only=True)

    def shown(self, answers: Asked) -> Shown:
        """Return the answers of a table as probes show them."""
        table = pl.read_parquet(artifact_path(self.study, answers.path))
        return answers_shown(table, self.layout if answers.model == self.model else AnswerLayout())

    def conversations_before(self, of: Asked) -> pl.DataFrame:
        """Return the conversations that a table continues."""
        return pl.read_parquet(artifact_path(self.study, judged(self.study)[of.folder].items))


def _plan_items(record: StudyRecord, results: Path, model: str, planner: Planner) -> Iterator[Item]:
    grid = record.grid(results)
    with TemporaryDirectory(prefix="userturn-") as scratch:
        Path(scratch, "datasets").symlink_to(results / "datasets")
        again, scorer = record.grid(Path(scratch)), _scorer(planner)
        texts = [of for of in asked_of(grid, model) if of.kind != SCORES]
        identities, answer_layout = (
            frozenset(of.identity for of in texts),
            planner.template.answer_layout,
        )
        where = model, WHOLE, identities, planner, scorer, answer_layout, Path(scratch)
        plans = RecordedPlans(again, *where, study=grid)
        for _, tables in plans.stages():
            of_plans = {of.identity: of for of in tables}
            for plan in plans.texts(tables):
                of = of_plans[plan.path.parent.name]
                folder = grid.requests_folder(model, of.dataset, of.identity)
                yield from _compared(grid, of.path, folder, plan, planner)


def _scorer(planner: Planner) -> Scorer:
    return Scorer(planner.identity, planner.template, planner.max_model_len, "", planner.asks)


def _score_items(grid: Grid, model: str, planner: Planner) -> Iterator[Item]:
    for scored in asked_of(grid, model):
        if scored.kind != SCORES or not can_be_derived(grid, scored):
            continue
        scorer = replace(_scorer(planner), dataset=grid.places.dataset_name(scored.dataset))
        folder = grid.requests_folder(model, scored.dataset, scored.identity)
        for path in sorted(folder.glob("[!.]*.parquet")):
            rows = list(scorer.rows(turns_to_score(grid, scored, path.stem)))
            plan = pl.DataFrame(rows, schema=SCORING_PLAN_SCHEMA)
            there = scan_plans([path]).select(*SCORING_PLAN_SCHEMA).collect()
            if plan.height == there.height:
                plan = _scored_as(plan, there["asked_as"], planner.identity)
            yield _compared_plan(grid, path)
            wrong = difference(plan.drop(UNNOTED), there.drop(UNNOTED), ["item", "context"])
            if wrong is not None:
                yield Finding("prompts", scored.path, *wrong)


def _compared_plan(grid: Grid, path: Path) -> Status:
    return Status(f"results/{path.relative_to(grid.results).as_posix()}", COMPARED)


def _scored_as(plan: pl.DataFrame, names: pl.Series, identity: Mapping[str, Any]) -> pl.DataFrame:
    """Return scoring requests with keys for the dataset's names that a plan notes."""
    keys = [
        row["key"]
        and scoring_request(
            identity, name or row["asked_as"], row["item"], row["token_ids"], row["n_context"]
        ).key
        for row, name in zip(plan.iter_rows(named=True), names, strict=True)
    ]
    return plan.with_columns(pl.Series("key", keys, dtype=pl.String))


def _compared(grid: Grid, path: str, folder: Path, other: Plan, planner: Planner) -> Iterator[Item]:
    """Compare plans with their recomputation, and the texts of their table with its tokens.

    Requests may have been asked under other names, which are taken from the plans.
    """
    yield from (_compared_plan(grid, plan) for plan in sorted(folder.glob("[!.]*.parquet")))
    there, again = read_whole_plan(folder), pl.read_parquet(other.path)
    noted = there.select(*KEYS, "asked_as", "asked_item").drop_nulls()
    joined = again.select("key", *KEYS).drop_nulls("key").join(noted, on=KEYS)
    rows = joined.select("key", "asked_as", "asked_item").iter_rows()
    names = {key: (dataset, item) for key, dataset, item in rows}
    OtherNames(planner.identity, grid.config["seed"], {}).rename(other, names)
    again = pl.read_parquet(other.path)
    if noted.is_empty():  # an earlier version planned it
        there, again = there.drop(NAMES), again.drop(NAMES)
    wrong = difference(again, there, KEYS)
    if wrong is None:
        wrong = _wrong_text(pl.read_parquet(artifact_path(grid, path)), other, planner.template)
    if wrong is not None:
        yield Finding("prompts", path, *wrong)


def _wrong_text(table: pl.DataFrame, plan: Plan, template: Template) -> tuple[str, str] | None:
    requests = {request.key: request for _, request in plan.requests()}
    rows = table.filter(pl.col("outcome").is_in(ANSWERED))
    for row in rows.select("item", "key", "token_ids", "finish_reason", "text").to_dicts():
        completion = Completion(tuple(row["token_ids"]), row["finish_reason"])
        if to_record(requests[row["key"]], completion, template)["text"] != row["text"]:
            return f"the text that the tokens of {row['item']} decode to", "another text"
    return None
