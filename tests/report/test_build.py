"""What the report is made of: prompts in parts, cells in files, numbers as the tables have them."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.made_up_results import build, made_up_config, save, write_results
from userturn.html.page import embedded
from userturn.humans.import_labels import ANNOTATIONS_SCHEMA
from userturn.judges.verdict import GENUINE
from userturn.report.build import origins
from userturn.report.charts import picture, write_charts
from userturn.report.explorer_prompts import prompt_parts
from userturn.report.headline import (
    COPIED,
    FLOOR,
    corrected_of_models,
    floors_of_models,
    headline,
    n_items,
    rates_under,
)
from userturn.storage.table_files import TURN_KEYS
from userturn.study.grid import Grid
from userturn.tables import costs, judges
from userturn.tables.corrected_rates import CORRECTED
from userturn.tables.judges import SCHEMA as JUDGES
from userturn.tables.layout import page_table
from userturn.tables.likelihood import OWN, REFERENCE

SECRET = "zebra-of-a-private-row"


def read_data(page: Path, name: str) -> Any:
    """Return what a data file hands to the page."""
    script = (page.parent / "data" / f"{name}.js").read_text("utf-8")
    found = re.fullmatch(rf'userturn\.take\("{name}",(.*)\);\n', script, re.DOTALL)
    assert found
    return json.loads(found.group(1))


def known(page: Path) -> dict[str, Any]:
    """Return what a page knows before it reads any data file."""
    block = re.search(
        r'<script type="application/json" id="study">(.*?)</script>', page.read_text()
    )
    assert block
    return dict(json.loads(block.group(1)))


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Grid:
    """Two models, a dataset that is private and one that is not, with turns that say so."""
    config = made_up_config(
        ["a-1b", "b-1b"], ["healthbench", "open"], perturbations=("none", "truncate", "header_only")
    )
    grid = Grid(config, tmp_path_factory.mktemp("report"))
    write_results(grid, 9, lambda cell, i: SECRET if cell.dataset == "healthbench" else f"turn {i}")
    return grid


@pytest.fixture(scope="module")
def page(grid: Grid) -> Path:
    return build(grid)


def test_charts_are_data_files_and_their_library_is_written_once_with_equal_bytes(
    grid: Grid, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{name}.vl.json" for name in ("one", "two")]
    for path in paths:
        chart = {"title": {"text": "</script>"}, "datasets": {"d": [{"x": 1}]}, "mark": "point"}
        path.write_text(json.dumps(chart | {"data": {"name": "d"}}))
        (tmp_path / path.name.replace(".vl.json", ".svg")).write_text("<svg/>")
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
        pictures = [str(tmp_path / f"{name}.svg") for name in ("one", "two")]
        titles = {"one": "</script>", "two": "</script>"}
        charts, _ = write_charts(pictures, {}, folder)
        named = {"charts": ["one", "two"], "titles": titles}
        assert charts == {**named, "parts": {}, "emptyFigures": [], "drawnFrom": {}}
    files = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders]
    assert files[0] == files[1]
    assert set(files[0]) == {"charts.js", "figure-one.js", "figure-two.js"}
    assert b"</script>" not in files[0]["figure-one.js"]


def test_picture_has_its_size_and_its_caption_as_text() -> None:
    html = picture("a_b", ['<svg xmlns="x" width="20.4" height="10">'], {"a_b": "<b>"}, b"%PDF")
    assert 'width="20" height="10"' in html
    assert '<figure id="figure-a_b" data-pdf="JVBERg==">' in html
    assert '<span>&lt;b&gt;</span> <a href="../figures/a_b.svg">' in html


def test_parts_of_a_picture_are_numbered() -> None:
    html = picture("a_b", ["<svg/>", "<svg/>"], {})
    assert re.findall('alt="(.*?)"', html) == ["a b (part 1 of 2)", "a b (part 2 of 2)"]


MESSAGES = [("system", "Be brief."), ("user", "user"), ("assistant", " An answer. ")]


def test_prompt_is_cut_into_template_and_messages() -> None:
    prompt = "<s>system Be brief.<e><s>user user<e><s>assistant An answer.<e><s>user "
    assert prompt_parts(prompt, MESSAGES, "<e><s>user ") == [
        ("template", "<s>system "),
        ("system", "Be brief."),
        ("template", "<e><s>user "),
        ("user", "user"),
        ("template", "<e><s>assistant "),
        ("assistant", "An answer."),
        ("template", "<e><s>user "),
    ]


@pytest.mark.parametrize(
    "prompt", ["", "something else", "An answer.", "Be brief. user An answer."]
)
def test_parts_put_together_are_the_prompt(prompt: str) -> None:
    assert "".join(text for _, text in prompt_parts(prompt, MESSAGES, "user ")) == prompt


def test_prompt_without_its_messages_is_the_templates() -> None:
    assert prompt_parts("<s>user", MESSAGES, "") == [("template", "<s>user")]


def test_embedded_json_ends_no_script_and_stays_what_it_was() -> None:
    value = ["</script><!--", "a & b", "\u2028\u2029", {"k": None}]
    text = embedded(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


def test_index_counts_what_the_verdicts_say(grid: Grid, page: Path) -> None:
    study = known(page)
    for key, n, outcomes, n_cut, labels, n_differ, _, n_copies in study["cells"]:
        model, dataset, temperature, perturbation = key
        assert n_copies == (8 if dataset == "healthbench" else 0), "all say the same there"
        folder = grid.results / "cells" / model / dataset / f"t{temperature}" / perturbation
        turns = pl.read_parquet(folder / "user_turns.parquet")
        verdicts = [
            pl.read_parquet(folder / "verdicts" / f"{judge}.parquet") for judge in study["judges"]
        ]
        # of nine turns the last is an error, and the fourth is cut
        assert (n, outcomes, n_cut) == (9, [8, 0, 1], (turns["finish_reason"] == "length").sum())
        for table, counts in zip(verdicts, labels, strict=True):
            named = {study["labels"][int(number)]: count for number, count in counts.items()}
            assert named == dict(table["label"].drop_nulls().value_counts().iter_rows())
        assert n_differ == (verdicts[0]["label"] != verdicts[1]["label"]).sum()


def test_prompts_are_written_once_for_all_temperatures(grid: Grid, page: Path) -> None:
    study = known(page)
    file = read_data(page, f"prompts-{study['groups']['a-1b/open']}-0")
    # nine items, each with three perturbations; no conversation is shown under header_only
    assert (len(file["items"]), len(file["prompts"])) == (9, 27)
    assert sum(row[0] == -1 for row in file["prompts"]) == 9


def test_turn_finds_its_prompt_again(grid: Grid, page: Path) -> None:
    study = known(page)
    number = [cell[0] for cell in study["cells"]].index(["b-1b", "open", "1", "truncate"])
    cell = read_data(page, f"cell-{number}-0")
    prompts = read_data(page, f"prompts-{study['groups']['b-1b/open']}-0")
    row = cell["turns"][4]
    path = grid.results / "cells" / "b-1b" / "open" / "t1" / "truncate" / "user_turns.parquet"
    turn = pl.read_parquet(path).row(4, named=True)
    parts = prompts["prompts"][row[6]][1:]
    assert "".join(prompts["texts"][n] for n in parts[1::2]) == turn["prompt_text"]
    assert prompts["texts"][prompts["prompts"][row[6]][0]] == turn["answer"]
    assert (cell["texts"][row[0]], cell["texts"][row[5]]) == (turn["item"], turn["text"])


def test_no_text_of_a_private_dataset_is_in_any_file(grid: Grid, page: Path) -> None:
    everything = "".join(p.read_text("utf-8") for p in page.parent.rglob("*") if p.is_file())
    questions = pl.read_parquet(grid.dataset_path("healthbench"))["messages"].explode().struct[1]
    answers = pl.read_parquet(grid.results / "answers" / "a-1b" / "healthbench.parquet")["answer"]
    for text in [SECRET, *questions, *answers, "says why, number 99"]:
        assert text not in everything
    number = [cell[0] for cell in known(page)["cells"]].index(["a-1b", "healthbench", "0", "none"])
    assert set(read_data(page, f"cell-{number}-0")["texts"]) == {
        f"healthbench-{i}" for i in range(9)
    }


def test_same_results_give_the_same_bytes(grid: Grid, page: Path) -> None:
    first = {p: p.read_bytes() for p in page.parent.rglob("*.*") if p.is_file()}
    build(grid)
    assert {p: p.read_bytes() for p in page.parent.rglob("*.*") if p.is_file()} == first


def test_what_a_reader_cannot_see_is_shown_by_its_code(tmp_path: Path) -> None:
    grid = Grid(made_up_config(["a-1b"], ["open"]), tmp_path)
    write_results(grid, 1, lambda cell, i: "\u202egnp.exe \x1b[31m\nnext line")
    assert "⟦U+202E⟧gnp.exe ⟦U+001B⟧[31m\nnext line" in read_data(build(grid), "cell-1-0")["texts"]


def test_every_table_has_all_its_rows_in_a_data_file(grid: Grid, page: Path) -> None:
    shown = next(part for part in known(page)["tables"] if part["title"] == "Every cell")
    assert len(read_data(page, f"table-{shown['name']}")) == shown["n"] == 2 * len(grid.cells)


def test_page_says_what_the_study_was_made_from(page: Path) -> None:
    assert ["model", "a-1b", "made/up, revision f0"] in known(page)["made"]
    assert ["dataset", "open", "none"] in known(page)["made"]
    assert [
        "judge",
        "heuristic",
        "labels an English user turn by its words, without any model",
    ] in known(page)["made"]
    assert ["setting", "samples", "1"] in known(page)["made"]


def test_judge_is_named_with_its_settings_and_price(tmp_path: Path) -> None:
    config = made_up_config([], [], judges=("priced",))
    more = {"model": "j-1", "settings": {"max_tokens": 9}, "price": {"output": 2, "input": 0.5}}
    config["judges"]["priced"] = {"kind": "endpoint"} | more
    asked = "a model behind an OpenAI-compatible API labels a user turn by a rubric"
    told = "model j-1; max_tokens 9; price of a million tokens: input 0.5, output 2"
    assert ["judge", "priced", f"{asked}; {told}"] in origins(Grid(config, tmp_path), {})


def test_large_cell_is_split_into_files_of_500(tmp_path: Path) -> None:
    config = made_up_config(["a-1b"], ["open"], (0,), ("none",), ("heuristic",))
    grid = Grid(config, tmp_path)
    write_results(grid, 1001, n_words=3)
    page = build(grid)
    sizes = [len(read_data(page, f"cell-0-{part}")["turns"]) for part in range(3)]
    items = [len(read_data(page, f"prompts-0-{part}")["items"]) for part in range(3)]
    assert sizes == items == [500, 500, 1]
    assert not (page.parent / "data" / "cell-0-3.js").exists()


def test_people_are_numbers_and_the_labels_of_another_prompt_are_left_out(
    grid: Grid, tmp_path: Path
) -> None:
    cell = grid.results / "cells" / "a-1b" / "open" / "t0" / "none"
    turns = pl.read_parquet(cell / "user_turns.parquet").head(2)
    changed = pl.Series(["other", turns["key"][1]])  # the first turn has been asked anew since
    said = turns.select(*TURN_KEYS, key=changed).with_columns(
        round=pl.lit("first"), annotator=pl.lit("Ann Other"), id=pl.lit("0"),
        label=pl.lit("generic"), genuine=pl.lit(False), notes=pl.lit("a note"),
    )  # fmt: skip
    save(said.select(*ANNOTATIONS_SCHEMA), tmp_path / "annotations.parquet")
    kappa = {"part": "judge-human", "first": "heuristic", "second": "Ann Other"}
    save(
        pl.DataFrame([kappa | {"by": "all", "estimate": 0.5}], schema=JUDGES),
        tmp_path / "judges.parquet",
    )
    page = build(
        grid,
        paths_to_annotations=[str(tmp_path / "annotations.parquet")],
        paths_to_tables=[str(tmp_path / "judges.parquet")],
    )
    study = known(page)
    number = [cell[0] for cell in study["cells"]].index(["a-1b", "open", "0", "none"])
    file = read_data(page, f"cell-{number}-0")
    assert file["turns"][0][9] == []
    who, label, notes = file["turns"][1][9]
    assert (file["texts"][who], study["labels"][label]) == ("person 1", "generic")
    assert file["texts"][notes] == "a note"
    assert study["cells"][number][6] == 1
    assert "Ann Other" not in page.read_text() + str(file)
    build(grid)


def test_headline_takes_its_numbers_from_the_tables() -> None:
    counts = {"n_ok": 0, "n_empty": 0, "n_error": 0, "label": GENUINE, "average": "micro"}
    cells = [("j", 5, 4), ("j", 6, 6), ("k", 100, 100)]
    no_floor = dict.fromkeys([*FLOOR, *CORRECTED, *COPIED[1:]])
    rows: list[dict[str, Any]] = [
        {"scope": "cell", "judge": judge, "n_turns": n, "n_scored": k, **counts, **no_floor}
        for judge, n, k in cells
    ]
    row = counts | {"scope": "model", "perturbation": "none", "judge": "j", "model": "m"}
    share = {"estimate": 0.5, "lower": 0.4, "upper": 0.6, "n_scored": 9, "n_turns": 10}
    share |= {"lenient": 0.6, "lenient_lower": 0.5, "lenient_upper": 0.7}
    share |= {"n_answers": 10, "n_answers_cut": 7, **dict.fromkeys(COPIED, 0)}
    rows += [{**row, "temperature": t, **share} for t in (1.0, 0.0)]
    answers = pl.DataFrame({"n_items": [30, 40], "n_answers_cut": [24, 28]})
    tables = {"rates": pl.DataFrame(rows, infer_schema_length=None), "accuracy": answers}
    found = headline(tables, "j", ["m"])
    assert found["answers"] == {"n": 70, "n_cut": 52}
    assert (found["counts"]["n_turns"], found["counts"]["n_scored"]) == (11, 10)
    assert found["models"][0]["rates"] == [{"temperature": t, **share} for t in (0.0, 1.0)]
    assert (found["models"][0]["accuracy"], found["card"], found["weakest"]) == (None, [], None)


def test_items_are_counted_once_for_all_models() -> None:
    rows = [("m", "d", 30), ("n", "d", 30), ("m", "e", 40), ("n", "e", 39)]
    answers = pl.DataFrame(rows, schema=["model", "dataset", "n_items"], orient="row")
    assert n_items({"accuracy": answers}) == 70
    assert n_items({}) is None


def test_headline_has_the_floor_of_unperturbed_turns_over_all_datasets() -> None:
    row = {"model": "m", "dataset": "all", "perturbation": "none", "judge": "j", "scope": "model"}
    row |= {"label": GENUINE, "average": "micro", **dict.fromkeys([*FLOOR, *CORRECTED], 0.1)}
    other = {"model": "n", "temperature": 0.0, "floor": 0.4}
    rows = [{**row, "temperature": t} for t in (1.0, 0.0)] + [row | other]
    hidden = [{"judge": "k"}, {"scope": "cell"}, {"perturbation": "truncate"}, {"floor": None}]
    table = pl.DataFrame(rows + [{**row, "temperature": 0.5, **change} for change in hidden])
    of_judge = rates_under(table.filter(judge="j"), "none")
    found = floors_of_models(of_judge, ["n", "m"])
    shown = [(floor["model"], floor["temperature"], floor["floor"]) for floor in found]
    assert shown == [("n", 0.0, 0.4), ("m", 0.0, 0.1), ("m", 1.0, 0.1)]


def test_headline_has_the_rates_that_people_corrected_by_model_and_temperature() -> None:
    row = {"scope": "model", "model": "m", "perturbation": "none", "judge": "j"}
    row |= {"label": GENUINE, "average": "micro", "n_labelled": 30}
    row |= {"corrected": 0.1, "corrected_lower": 0.0, "corrected_upper": 0.2}
    others = [{"scope": "cell"}, {"judge": "k"}, {"corrected": None}, {"perturbation": "truncate"}]
    rows = [{**row, "temperature": 0.0}] + [{**row, "temperature": 1.0, **o} for o in others]
    found = corrected_of_models(rates_under(pl.DataFrame(rows).filter(judge="j"), "none"))
    limits = {"estimate": 0.1, "lower": 0.0, "upper": 0.2}
    assert found == [{"model": "m", "temperature": 0.0, "n_labelled": 30, **limits}]


def test_headline_has_the_share_of_human_follow_ups_that_a_model_finds_likelier() -> None:
    row = {"model": "m", "dataset": "d", "n_scored": 20, "chance": 0.5}
    shown = row | {"estimate": 0.9, "lower": 0.7, "upper": 1.0}
    place = {"part": REFERENCE, "measure": "identified_answer"}
    others = ({}, {"measure": "gain_answer"}, {"estimate": None}, {"part": OWN})
    table = pl.DataFrame([{**shown, **place, **other} for other in others])
    assert headline({"likelihood": table}, "j", ["m"])["identified"] == [shown]


def test_headline_has_accuracy_beside_the_follow_up_rate_of_the_same_items() -> None:
    counts_of_turns: dict[str, Any] = dict.fromkeys(
        [*FLOOR, *CORRECTED, *COPIED, "lenient", "lenient_lower", "lenient_upper"]
    ) | dict.fromkeys(("n_ok", "n_empty", "n_error"), 0)
    pooled = pl.DataFrame({"judge": ["j"], "scope": ["model"], "average": ["micro"],
                           "label": [GENUINE], **counts_of_turns,
                           "perturbation": ["none"], "model": ["m"], "temperature": [0.0],
                           "estimate": [0.457], "lower": [0.3], "upper": [0.6],
                           "n_scored": [70], "n_turns": [70],
                           "n_answers": [70], "n_answers_cut": [52]})  # fmt: skip
    limits = {"estimate": 0.1, "lower": 0.0, "upper": 0.2}
    graded = {f"accuracy_{name}": [value] for name, value in limits.items()}
    graded |= {f"followup_{name}": [value + 0.2] for name, value in limits.items()}
    place = {"judge": ["j"], "dataset": ["all"], "model": ["m"], "temperature": [0.0]}
    counts = {"n_graded": [40], "n_scored": [39]}
    tables = {
        "rates": pooled,
        "decoupling": pl.DataFrame(place | graded | counts | {"over": "a model"}),
    }
    (model,) = headline(tables, "j", ["m"])["models"]
    assert model["accuracy"] == [0.1, 0.0, 0.2, 40]
    assert model["followup"] == pytest.approx([0.3, 0.2, 0.4, 39])


def test_headline_without_tables_is_empty() -> None:
    nothing = {
        "counts": None,
        "answers": None,
        "models": [],
        "floors": [],
        "corrected": [],
        "identified": [],
        "card": [],
        "weakest": None,
    }
    assert headline({}, "j", ["m"]) == nothing


def test_table_shows_the_primary_judge_first_and_only_columns_that_are_there() -> None:
    table = pl.DataFrame(
        {
            "group": ["x", "y", "z"],
            "by": ["kind", "kind", "language"],
            "judge": ["a", "b", "b"],
            "estimate": [0.1, 0.2, 0.3],
            "lower": [0.0, 0.1, 0.2],
            "upper": [0.2, 0.3, 0.4],
        }
    )
    shown = page_table(judges.LAYOUT[1], table, "b")
    assert [heading for heading, _ in shown["columns"]] == ["control", "judge", "judged correctly"]
    assert shown["rows"][0] == [("y",), ("b",), (0.2, 0.1, 0.3)]
    assert len(shown["rows"]) == 2


def test_numbers_that_json_lacks_are_shown_as_none() -> None:
    table = pl.DataFrame({"judge": ["j"], "cost": [float("inf")], "cost_per_1000": [float("nan")]})
    assert page_table(costs.LAYOUT, table, "j")["rows"] == [[("j",), (None,), (None,)]]
