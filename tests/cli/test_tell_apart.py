"""`userturn tell-apart`: shares over both orders, with controls and people beside the judge."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.support.judge_server import Asked, completion, judge_server
from tests.support.printed_output import text_of
from tests.support.snakemake_runs import ROOT
from userturn.cli.main import parser
from userturn.cli.tell_apart import AS_PEOPLE, pairs_needed
from userturn.errors import UserError
from userturn.stats.proportions import wilson

DEMO = "profiles/demo/study.yaml"
CELL = "cells/smollm2-135m/follow-ups/t{}/reference_answer"
N = 6


def save(table: pl.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table.write_parquet(path)


def study(folder: Path, url: str) -> list[str]:
    """Write a finished study of six conversations, and return the arguments of the command."""
    results = folder / "results"
    messages = [[{"role": "user", "content": f"Question {k}?"}] for k in range(N)]
    items = {
        "item": [f"i{k}" for k in range(N)],
        "messages": messages,
        "reference_context": [[*m, {"role": "assistant", "content": "Well."}] for m in messages],
        "reference_user_turn": [f"lol ok {k}" for k in range(N)],
    }
    save(pl.DataFrame(items), results / "datasets/follow-ups.parquet")
    for t in (0, 1):
        turns = pl.DataFrame(
            {
                "item": items["item"],
                "text": [f"A machine says {k} at {t}<|im_end|>" for k in range(N)],
                "key": [f"{t} {k}" for k in range(N)],
            }
        ).with_columns(
            model=pl.lit("smollm2-135m"),
            dataset=pl.lit("follow-ups"),
            temperature=pl.lit(float(t)),
            perturbation=pl.lit("reference_answer"),
            sample=pl.lit(0, pl.Int64),
            outcome=pl.lit("ok"),
            finish_reason=pl.lit("stop"),
            answer=pl.lit("Well."),
        )
        save(turns, results / CELL.format(t) / "user_turns.parquet")
    mine = folder / "mine.yaml"
    mine.write_text(
        "run: {datasets: [follow-ups], perturbations: [none, reference_answer]}\n"
        "judges:\n"
        f"  asked: {{kind: endpoint, base_url: '{url}', model: m}}\n"
    )
    return ["tell-apart", "asked", "--results", str(results), "--configfile", DEMO, str(mine)]


def printed(arguments: list[str]) -> str:
    chosen = parser(arguments[:1]).parse_args(arguments)
    return text_of(chosen.run(chosen))


def by_content(asked: Asked) -> bytes:
    """Return the reply of a judge that finds lol, and else takes the first."""
    text = asked.body["messages"][-1]["content"]
    behind = text.partition("Second message")[2]
    return completion({"explanation": "x", "person": "second" if "lol" in behind else "first"})


@pytest.mark.slow
def test_a_judge_that_sees_the_person_is_told_from_one_that_sees_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with judge_server(by_content) as server:
        text = printed(study(tmp_path, server.url))
    (people,) = (line for line in text.splitlines() if "a model's and a person's" in line)
    _, lower, upper = wilson(0, N)
    assert "6/6" in people and f"0.0% [{100 * lower:.1f}, {100 * upper:.1f}]" in people
    assert people.endswith("100.0%")
    (control,) = (
        line for line in text.splitlines() if line.startswith("asked  ") and "two" in line
    )
    assert "50.0% [" in control and control.endswith(" 0.0%")
    assert "no control of two people's" in text
    # An audit of the results finds nothing that no job made.
    assert {path.name for path in (tmp_path / "results").iterdir()} == {"cells", "datasets"}
    assert list((tmp_path / "told_apart").rglob("*.jsonl"))


@pytest.mark.slow
def test_people_stand_beside_the_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    row = {"scope": "model", "annotator": "all", "model": "smollm2-135m", "n_labelled": 9}
    row |= {"n_pairs": 10, "estimate": 0.25, "lower": 0.1, "upper": 0.5}
    save(pl.DataFrame([row]), tmp_path / "results/tables/human_likeness.parquet")
    with judge_server(by_content) as server:
        lines = printed(study(tmp_path, server.url)).splitlines()
    (people,) = (line for line in lines if line.startswith("people"))
    assert "9/10" in people and "25.0% [10.0, 50.0]" in people


def mirrorbench(folder: Path, *labels: tuple[str, str]) -> list[str]:
    """Write labelled pairs, of each the simulated user's slot and people's label."""

    def said(text: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": text}, {"role": "assistant", "content": "Well."}]

    texts = {"lol ok": "person", "A machine says so": "simulated"}
    rows = [
        {"sample_id": str(k), "human_label": label}
        | {f"conversation_{s.lower()}": said([*texts][s == slot]) for s in "AB"}
        for k, (slot, label) in enumerate(labels)
    ]
    truth = [
        {"sample_id": str(k), "ground_truth_synthetic_slot": slot, "judge_score": 0.0}
        for k, (slot, _) in enumerate(labels)
    ]
    (folder / "pi_pairwise_labeled.json").write_text(json.dumps(rows))
    (folder / "pi_pairwise_judge_scores.json").write_text(json.dumps(truth))
    return ["--mirrorbench", str(folder)]


@pytest.mark.slow
def test_the_card_by_mirrorbench_has_judge_people_and_what_they_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    # People choose the person once, the simulated user twice, and call one pair a tie.
    labels = [("A", "B"), ("B", "B"), ("B", "B"), ("A", "Tie")]
    with judge_server(by_content) as server:
        arguments = study(tmp_path, server.url) + mirrorbench(tmp_path, *labels)
        lines = printed(arguments).splitlines()
    shares = {line.split("  ")[0]: line.split("%")[0].split()[-2:] for line in lines[2:]}
    assert shares == {
        "asked": ["4/4", "100.0"],
        "people": ["3/3", "33.3"],
        AS_PEOPLE: ["3/3", "33.3"],
    }


def test_a_folder_that_is_no_run_of_mirrorbench_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    arguments = [*study(tmp_path, "http://127.0.0.1:9/v1"), "--mirrorbench", str(tmp_path)]
    with pytest.raises(UserError, match="cannot be read; expected a folder of MirrorBench"):
        printed(arguments)
    mirrorbench(tmp_path, ("A", "B"))
    (tmp_path / "pi_pairwise_judge_scores.json").write_text("[]")
    with pytest.raises(UserError, match="has no pairs as MirrorBench publishes them"):
        printed(arguments)


def test_a_study_without_such_turns_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    arguments = study(tmp_path, "http://127.0.0.1:9/v1")
    (tmp_path / "results" / CELL.format(1) / "user_turns.parquet").unlink()
    with pytest.raises(UserError, match="reference_answer"):
        printed(arguments)


def test_the_number_of_conversations_gives_one_half_limits_of_five_points() -> None:
    n = pairs_needed()
    assert n is not None
    estimate, lower, upper = wilson(n // 2, n)
    assert estimate is not None and lower is not None and upper is not None
    assert (upper - lower) / 2 == pytest.approx(0.05, abs=1e-4)
