"""Role-play beside the raw probe: equal answers, asked for once, and turns without reasoning."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.edited_study import MODEL, edited_study, installed
from tests.support.snakemake_runs import ROOT
from userturn.generation.ask_engine import to_record
from userturn.models.requests import Completion, Sampling, make_request
from userturn.prompts.chat_template import Template
from userturn.prompts.load_template import load_template

PLAYED = f"{MODEL}+played"
FORMATS = {"played": {"probe": "role_play"}}


@pytest.fixture(scope="module")
def template() -> Template:
    entry: Any = {"enable_thinking": False}
    return load_template(ROOT / "data/chat_api", entry, "2026-04-02")


@pytest.mark.slow
@pytest.mark.parametrize("is_first_alone", [True, False])
def test_answers_of_the_raw_probe_are_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_first_alone: bool
) -> None:
    """Whether the format is there from the beginning or added later."""
    one = installed(edited_study(tmp_path / "study"), monkeypatch.setitem)
    n_raw = one.settle().n_asked if is_first_alone else None
    one.config["formats"] = FORMATS
    done = one.settle()
    tables = [one.results / "answers" / name / "math.parquet" for name in (MODEL, PLAYED)]
    raw, played = (pl.read_parquet(path).drop("model") for path in tables)
    assert raw.equals(played) and raw.height == 4
    n_answers = 4 + 4 + 3
    assert done.n_asked == (n_raw - n_answers if n_raw else len(set(one.asked)))
    assert len(one.asked) == len(set(one.asked))
    assert one.settle().n_asked == 0


@pytest.mark.slow
def test_requests_of_a_begun_format_are_said_as_they_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = installed(edited_study(tmp_path / "study", formats=FORMATS), monkeypatch.setitem)
    one.settle()
    one.config["temperatures"] = [0, 0.5, 1.0]
    done = one.settle()
    assert done.n_said == done.n_asked > 0


def test_played_turn_is_what_a_person_would_see(template: Template) -> None:
    drawn = Sampling(0.0, 1.0, 0, 0.0, 40, template.end_token_ids, None, is_played=True)
    prompt = template.answer_prompt([{"role": "user", "content": "Play."}])
    request = make_request({}, "d", "i", 0, prompt, drawn)

    def text_of(raw: str) -> tuple[str, str]:
        ids = template.encoder.encode(["", ""], [raw])
        record = to_record(request, Completion(tuple(ids), "stop"), template)
        return record["text"], record["outcome"]

    assert text_of("<think>They said four.</think>\n\nWhy four?") == ("Why four?", "ok")
    assert text_of("<think>They said four and I") == ("", "empty")
    assert text_of(" Why four? ") == ("Why four?", "ok")


def test_key_of_a_raw_turn_does_not_know_of_role_play(template: Template) -> None:
    prompt = template.answer_prompt([{"role": "user", "content": "Play."}])
    drawn = Sampling(0.0, 1.0, 0, 0.0, 40, (), None)
    raw, played = (
        make_request({}, "d", "i", 0, prompt, one).key
        for one in (drawn, Sampling(0.0, 1.0, 0, 0.0, 40, (), None, is_played=True))
    )
    known = "".join(sorted(vars(drawn)))
    assert raw != played and "is_played" in known
