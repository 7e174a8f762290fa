"""With a model's tokenizer an audit renders every prompt and decodes every text again."""

import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from tests.support.findings_of import said_of
from tests.workflow.test_rerun_samples import change_row
from userturn.audit.check_prompts import check_prompts
from userturn.audit.findings import COMPARED, OTHER, ROOT, Finding
from userturn.audit.run import audit
from userturn.cli.main import main

pytestmark = pytest.mark.slow

CELL = "results/cells/tiny/word-problems/t1/none"


def test_a_study_as_it_was_made_passes(study: Path) -> None:
    assert said_of(check_prompts(study / "results")) == []


def test_it_needs_no_weights(study: Path) -> None:
    for path in (study / "models" / "tiny").glob("*.safetensors"):
        path.unlink()
    assert said_of(check_prompts(study / "results")) == []


def test_a_text_that_its_tokens_do_not_spell_is_found(study: Path) -> None:
    table = pl.read_parquet(study / CELL / "user_turns.parquet")
    row = table["outcome"].is_in(["ok"]).arg_max()
    assert row is not None
    change_row(study / CELL / "user_turns.parquet", row, text="What if the train is late?")
    (found,) = said_of(check_prompts(study / "results"))
    assert isinstance(found, Finding) and found.artifact == f"{CELL}/user_turns.parquet"
    assert found.found == "another text"


def test_a_prompt_that_the_template_does_not_render_is_found(study: Path) -> None:
    plan = max((study / "results/requests/tiny/word-problems").glob("*/*.parquet"))
    change_row(plan, 0, prompt_text="Say: what if?")
    (found,) = said_of(check_prompts(study / "results"))
    assert isinstance(found, Finding) and found.expected.startswith("prompt_text of")


@pytest.mark.parametrize(
    ("name", "other"), [("user_header", "<|user|>"), ("proofs", ["a token ends a user turn"])]
)
def test_a_description_that_says_another_header_or_proof_is_found(
    study: Path, name: str, other: object
) -> None:
    path = study / "results/models/tiny.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: other}))
    (found,) = said_of(check_prompts(study / "results"))
    assert isinstance(found, Finding) and found.expected.startswith(f"{name} as")


def append_to_template(model: Path, text: str) -> None:
    path = model / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    if "chat_template" in settings:
        settings["chat_template"] += text
        path.write_text(json.dumps(settings))
    else:
        template = model / "chat_template.jinja"
        template.write_text(template.read_text() + text)


def test_a_study_under_another_models_name_is_found(study: Path) -> None:
    append_to_template(study / "models" / "tiny", "{# a comment changes no token #}")
    assert said_of(check_prompts(study / "results")) == []
    append_to_template(study / "models" / "tiny", "another")
    (found,) = said_of(check_prompts(study / "results"))
    assert isinstance(found, Finding) and found.artifact == "results/models/tiny.json"


def test_plans_are_compared_where_the_tokenizer_is_and_else_the_audit_is_not_whole(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study)
    command, said = ["audit", "results", "--tokenizer"], study / "results/audit/audit.json"

    def counts(code: int) -> Counter[str]:
        assert main(command) == code
        return Counter(of["state"] for of in json.loads(said.read_text())["statuses"])

    plain = Counter(of.state for of in audit(study / "results").statuses)
    n_plans = len([*study.glob("results/requests/**/*.parquet")])
    here = counts(0)
    assert here[COMPARED] == plain[COMPARED] + n_plans + 1  # and the description of the model
    (study / "models" / "tiny").rename(study / "models" / "other")
    assert counts(3) == plain - Counter([ROOT]) + Counter([OTHER])
    assert "the tokenizer of './models/tiny' is not on this machine" in said.read_text()
