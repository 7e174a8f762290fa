"""`userturn calibrate` as in its example: a stranger's log is corrected in one command."""

import re
import shlex

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.cli.main import main

PAGE = (ROOT / "benchmarks" / "calibration.md").read_text()
OTHERS = (ROOT / "benchmarks" / "judges.md").read_text()


def test_the_docs_show_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    shown = re.search(r"^    (userturn calibrate .*)\n\n.*\n\n((?:    .*\n)+)", PAGE, re.MULTILINE)
    assert shown
    assert main(shlex.split(shown[1])[1:]) == 0
    assert capsys.readouterr().out == re.sub("^    ", "", shown[2], flags=re.MULTILINE)


def test_the_how_to_quotes_the_corrected_rate_of_the_example() -> None:
    how_to = (ROOT / "docs" / "annotation.md").read_text()
    by_judge, corrected = re.findall(r"(?:by the judge|corrected rate) +(.*)", PAGE)[2:4]
    share, *limits = (f"{100 * float(x):.1f}" for x in re.findall(r"[\d.]+", corrected))
    shown = f"{100 * float(by_judge.split()[0]):.1f}% becomes {share}% [{', '.join(limits)}]"
    assert shown in how_to


def test_the_truth_of_the_docs_is_in_the_corrected_intervals_alone() -> None:
    # 91 of 120 answers were meant right: .7583, as the rule that answered noted.
    for block in re.findall(r"exact_match,.*\n      rate .*\n      corrected .*\n", PAGE):
        (low, high), (lower, upper) = re.findall(r"\[([\d.]+), ([\d.]+)\]", block)
        assert not float(low) <= 91 / 120 <= float(high)
        assert float(lower) <= 91 / 120 <= float(upper)


def test_groups_changes_and_judges_left_out_are_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: pytest.TempPathFactory
) -> None:
    rows = [f"{m},{i},{int(i % 3 > n)},0.5" for n, m in enumerate("ab") for i in range(30)]
    verdicts, labels = (f"{tmp_path}/{name}.csv" for name in ("verdicts", "labels"))
    for path, lines in (
        (verdicts, ["model,id,sure,share", *rows]),
        (labels, ["model,id,label", *(f"{m},{i},{int(i % 2)}" for m in "ab" for i in range(12))]),
    ):
        with open(path, "w") as file:  # noqa: PTH123
            file.write("\n".join(lines))
    assert main(["calibrate", verdicts, labels, "--verdict", "sure", "share"]) == 0
    said = capsys.readouterr().out
    assert "sure on a: 12 of 30 rows labelled, 30 with a verdict\n" in said
    assert "sure on all, all: 24 of 60 rows labelled, 60 with a verdict\n" in said
    assert "sure on b\n  corrected rate less that of a" in said
    assert said.endswith("row 1: the verdict '0.5' is neither yes nor no)\n")
    assert main(["calibrate", verdicts, labels]) == 1
    assert capsys.readouterr().err.startswith("error: ")


def test_the_docs_have_what_is_said_of_mirrorbenchs_judge(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    command = re.search(r"^    userturn (calibrate tests.*mirrorbench.*)$", OTHERS, re.MULTILINE)
    assert command and main(shlex.split(command[1])) == 0
    said = capsys.readouterr().out
    numbers = dict(re.findall(r"^  (\w.*?) +([\d.]+ \[.*\])$", said, re.MULTILINE))
    assert numbers["rate by the judge"] == "0.640 [0.542, 0.727]"
    assert numbers["corrected rate"] == "0.310 [0.228, 0.406]"
    for name in ("sensitivity", "specificity", "kappa"):
        digits = [round(float(n), 2) for n in re.findall(r"[\d.]+", numbers[name])]
        assert (
            f"{name} {digits[0]:.2f} [{digits[1]:.2f}, {digits[2]:.2f}]".replace("0.", ".")
            in OTHERS
        )
