"""Every command in the docs is run: here, by another test, or by CI."""

import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.snakemake_runs import ROOT, copy_project, output_of

pytestmark = pytest.mark.slow

DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"(?:`|^ {4,7})((?:snakemake|userturn|make|bash) [^`\n#]+)", re.MULTILINE)
# What a test here or CI itself runs, and what needs a cluster.
RUN_HERE = {
    "snakemake -n",
    "snakemake --profile slurm -n",
    "snakemake --profile slurm --configfile fjord.yaml -n",
    "snakemake --cores 2 --configfile mine.yaml",
    "userturn rates results",
    "userturn rates results --cells",
    "userturn plan",
    "userturn status",
    "userturn export results",
    "snakemake audit --cores 1",
    "userturn why results/tables/rates.parquet",
}
RUN_BY_CI = {
    "make setup",
    "make demo",
    "make test",
    "make check",
    "make docs",
    "bash .ci/run",
}
RUN_ELSEWHERE = {
    "userturn audit results": "tests/workflow/test_tutorial.py",
    "userturn audit results.zip": "tests/audit/test_check_settings_paths.py",
    'userturn try org/base "Why is the sky blue?" --chat-template '
    "data/templates/transcript.jinja": "test_try.py, of a folder",
    "userturn export results --inspect inspect-logs": "tests/export/test_inspect_logs.py",
    "userturn export results --datasets rows": "tests/export/test_dataset_folder.py",
    "userturn export results --every-eval-ever records": "tests/export/test_every_eval_ever.py",
    "userturn export results --hub org/name": "tests/export/test_dataset_folder.py",
    "userturn new my-study": "test_new_study.py",
    "userturn run": "with a model, there",
    "userturn run org/name --data questions.csv": "tests/cli/test_run.py, of a folder",
    "userturn run ./my-model --data questions.csv --folder my-study": "test_tutorial.py",
    "userturn run ./my-model --data questions.csv --judge gpt-5.4-mini --folder judged": (
        "tests/workflow/test_first_study.py, its configuration"
    ),
    "userturn power --pilot results --half-width .05": "tests/cli/test_power.py, with more",
    "userturn new": "with a name, there",
    "snakemake --cores 2": "test_new_study.py",
    "snakemake --snakefile my-study/Snakefile --directory my-study --cores 2": "test_new_study.py",
    "userturn preregister": "tests/cli/test_preregister.py",
    "userturn accept": "tests/cli/test_accept.py",
    "userturn calibrate verdicts.csv labels.csv": "tests/calibration/test_calibrate.py",
    "userturn calibrate": "with names, in tests/cli/test_calibrate.py",
    "userturn calibrate tests/fixtures/calibration/made-up__shop-1b/samples"
    "_boxes_2026-11-27T22-03-22.723142.jsonl tests/fixtures/calibration/labels.csv"
    "": "tests/cli/test_calibrate.py",
    "userturn calibrate tests/fixtures/calibration/mirrorbench.csv "
    "tests/fixtures/calibration/mirrorbench_labels.csv": "tests/cli/test_calibrate.py",
    "userturn judge-card gpt-oss-20b": "needs a GPU",
    "userturn try NAME QUESTION --answer ANSWER --server URL --api chat --instruction FILE": (
        "test_try.py, of a server of our own"
    ),
    "userturn try MODEL QUESTION --server URL": "tests/models/test_served.py, of a server",
    "snakemake --profile profiles/simulators": "planned below; its server is yours",
    "userturn accept --gpu": "there, to the lack of a GPU",
    "userturn accept --api JUDGE": "there",
    "userturn accept --api gpt-5.4-mini": "there, of another judge",
    "userturn accept --hub": "there, without files of the hub",
    "userturn accept --slurm": "there, without SLURM",
    "userturn remake": "with names, below",
    "userturn remake results.zip --to remade": "tests/export/test_remake.py",
    "userturn remake results --to anew --sweep": "tests/export/test_remake_sweep.py, its dry run",
    "userturn remake results.zip --to anew --sweep --trust HASH": (
        "tests/study/test_powers.py; tests/audit/test_check_settings_paths.py asks it of a judge"
    ),
    "userturn compare results.zip anew/results": "tests/export/test_remake.py, with the same study",
    "userturn compare results anew/results": "tests/export/test_remake.py, with the same study",
    "make setup LOCK=gpu": "needs a GPU's lock; tests/test_setup.py",
    "userturn jobs": "tests/slurm/test_slurm.py",
    "make wheels": "the same",
    "make wheels LOCK=gpu": "fetches a GB; by hand, of the CPU's lock",
    "snakemake --cores 1 download": "needs the hub; its dry run is here",
    "snakemake --profile mysite": "a profile of one's own",
    "userturn doctor --profile mysite": "the same",
    "snakemake --cores 8": "as with 2",
    "snakemake --cores 2 --sdm conda": "test_conda.py, by a stand-in",
    "make test-slurm": "CI, in a smaller form",
    "make check-gpu": "needs a GPU; tests/test_vllm_on_gpu.py runs its parts on a CPU",
    "make rehearsal": "takes hours, for the night",
    "make test-fast": "a part of make test",
    "make test-long": "takes half an hour",
    "userturn doctor --gpu": "needs a GPU; tests/slurm/test_node_check.py",
    "userturn COMMAND --help": "tests/cli/test_main.py, of all",
    "userturn doctor": "tests/slurm/test_slurm.py",
    "userturn doctor --gpu --seconds 1800": "needs a GPU; tests/slurm/test_node_check.py",
    "snakemake --report report.zip": "with the configuration of the tests, here",
    "userturn audit results --regenerate 20 --rejudge 20": "test_check_settings_paths.py",
    "userturn audit results.zip --tokenizer": "test_audit_tokenizer.py",
    'userturn try my-model "How tall is a giraffe?"': "test_try.py",
    'userturn try org/My-Model-Instruct "How tall is a giraffe?"': "test_try.py",
    'userturn try my-model+no_system "..."': "test_try.py, in the default format",
    "userturn try": "with a model, tests/test_wheel.py",
    "userturn likelihood": "with a model, tests/test_wheel.py",
    "userturn likelihood my-model oasst_human": "tests/cli/test_likelihood.py, of another dataset",
    "userturn likelihood smollm2-135m oasst_en100 --configfile profiles/demo/study.yaml "
    "profiles/demo/oasst_en100.yaml": "takes minutes; tests/cli/test_likelihood.py",
    "userturn judge-card gpt-5.4-mini": "test_judge_card_command.py, of another judge",
    "userturn tell-apart gpt-5.4-mini": "tests/cli/test_tell_apart.py, of another judge",
    "userturn tell-apart gpt-5.4-mini --mirrorbench FOLDER": "the same, of a made-up folder",
    "userturn tell-apart": "with a judge, tests/cli/test_tell_apart.py",
    "userturn power": "tests/tables/test_pilot.py and its like",
    "userturn rates": "with a folder, here",
    "userturn rates --all": "tests/cli/test_rates.py",
    "userturn rates results --all": "tests/cli/test_rates.py",
    "userturn status --watch": "test_plan_and_status.py",
    "userturn completion": "tests/cli/test_completion.py",
    "userturn completion bash > ~/.local/share/bash-completion/completions/userturn": (
        "tests/cli/test_completion.py"
    ),
    "userturn judge-card": "with a judge, test_judge_card_command.py",
    "userturn judge-card heuristic": "test_judge_card_command.py",
    "snakemake --profile profiles/demo --configfile profiles/demo/study.yaml "
    "profiles/demo/server.yaml": "needs a server; tests/models/test_served.py asks its like",
    "snakemake --profile slurm download": "needs the hub; its dry run is here",
    "snakemake --cores all": "make demo, with a profile",
    "userturn compare A B": "test_a_study_is_compared_with_itself, in tests/tables",
    "userturn compare --html": "with names, below",
    "userturn compare A B --html both.html": "test_a_study_is_compared_with_itself",
    "userturn power --pilot results --half-width .05 --difference .05": "tests/cli/test_power.py",
    "userturn power --rate .2 --difference .05 --tests 22": "tests/cli/test_power.py",
    "userturn power --rate .2 --half-width .05 --assurance .8": "tests/cli/test_power.py",
    "userturn power --decoupled .3": "tests/cli/test_power.py",
    "userturn power --measure": "with numbers, below",
    "userturn power --measure identified_answer --rate .85 --difference .05": (
        "tests/cli/test_power.py"
    ),
    "snakemake --profile slurm": "needs a cluster; its dry run is here",
    "snakemake --profile slurm --configfile fjord.yaml": "the same",
    "snakemake --profile slurm --configfile fjord.yaml download": "the same",
    "userturn doctor --configfile fjord.yaml": "tests/slurm/test_slurm.py, of another file",
    "snakemake --profile slurm --configfile mine.yaml": "needs a cluster; its dry run is here",
    "userturn plan --configfile fjord.yaml": "the next, of another file",
    "userturn plan --configfile mine.yaml": "tests/test_documented_numbers.py reads the file",
    "userturn plan --configfile FILE": "bad files of it: tests/config/test_load.py",
    "snakemake --unlock": "Snakemake's own",
    "make demo-judge": "loads vLLM for minutes; its like: tests/judges/test_pending_cells_asked.py",
    "make demo-crossed": "takes minutes; tests/workflow/test_crossed_run.py runs its like",
    "make demo-posttrain": "trains for minutes; tests/workflow/test_training_run.py runs its like",
    "userturn costs": "tests/cli/test_costs.py",
    'userturn costs --paid gpt-5.4-mini=0.42 --because "the invoice of November"': (
        "tests/cli/test_costs.py"
    ),
    "userturn costs --paid": "with a judge, there",
    "userturn rejudge gpt-5.4-mini": "tests/workflow/test_judges_run.py runs its like",
    "snakemake --cores 1 results/datasets/riddles.parquet": "test_bad_input.py runs its like",
}


def commands() -> set[str]:
    return {found.strip() for doc in DOCS for found in COMMAND.findall(doc.read_text())}


def test_every_command_in_the_docs_is_run_somewhere() -> None:
    assert commands() - RUN_HERE - RUN_BY_CI - set(RUN_ELSEWHERE) == set()


def test_every_file_that_the_readme_maps_exists() -> None:
    named = re.findall(
        r"^ {4}([\w.]+/?(?:\w+/)?)(?:, (\w+/))?  ", (ROOT / "README.md").read_text(), re.M
    )
    files = {name for pair in named for name in pair if name}
    assert {"config.yaml", "Snakefile", "src/userturn/", "docs/"} <= files
    assert [name for name in sorted(files) if not (ROOT / name).exists()] == []


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project as cloned, with the link that makes `--profile slurm` find its profile."""
    folder = copy_project(tmp_path_factory.mktemp("docs") / "project")
    (folder / "slurm").symlink_to("profiles/slurm")
    return folder


def test_bench_of_user_simulators_is_planned_without_its_server(project: Path) -> None:
    said = output_of(project, "snakemake", "--profile", "profiles/simulators", "-n")
    assert re.search(r"my-simulator +at most 31 answers, at most 62 user turns", said)


def test_dry_run_of_the_shipped_config_plans_all_eleven_models(project: Path) -> None:
    said = output_of(project, "snakemake", "-n")
    assert re.findall(r"^sweep +(\d+)$", said, re.M) == ["11"]
    assert said.count("\n") < 100
    assert "snakemake -n --verbose" in said


def test_grid_with_an_open_judge_serves_it_once_and_judges_every_cell(project: Path) -> None:
    run = "models: [qwen3.5-0.8b, gpt-oss-20b], judges: [heuristic, gpt-oss-20b]"
    (project / "mine.yaml").write_text(f"run: {{{run}}}\nprimary_judge: gpt-oss-20b\n")
    command = "snakemake --profile slurm --configfile mine.yaml"
    said = output_of(project, *command.split(), "-n", "-q", "rules")
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", said, re.M))
    # 2 models x 5 datasets x 5 temperatures x 3 perturbations, by 2 judges
    assert (jobs["sweep"], jobs["serve_judge"]) == ("2", "1") and int(jobs["judge"]) == 2 * 150


def test_example_site_of_the_slurm_page_plans_its_one_model(project: Path) -> None:
    page = (ROOT / "docs" / "slurm.md").read_text()
    lines = re.findall(r"^ +((?:run|model_defaults): \{.*)$", page, re.M)
    (project / "fjord.yaml").write_text("\n".join(lines))
    command = "snakemake --profile slurm --configfile fjord.yaml -n"
    said = output_of(project, *command.split())
    assert len(lines) == 2 and re.findall(r"^sweep +(\d+)$", said, re.M) == ["1"]


def test_slurm_profile_is_found_from_the_projects_folder(study: Path) -> None:
    (study / "slurm").symlink_to("profiles/slurm")
    (study / "study.yaml").rename(study / "mine.yaml")
    command = ["snakemake", "--profile", "slurm", "-n", "--configfile", "mine.yaml"]
    assert "Nothing to be done" in output_of(study, *command)


def test_download_fetches_every_model_and_dataset_and_nothing_else(project: Path) -> None:
    said = output_of(project, "snakemake", "download", "-n")
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", said.rpartition("Job stats:")[2], re.M))
    # five datasets of the grid, and the human turns of the controls
    expected = {"describe_model": "11", "prepare_dataset": "6", "download": "1", "total": "18"}
    assert jobs == expected


def test_link_to_the_slurm_profile_is_part_of_the_project() -> None:
    assert (ROOT / "slurm" / "config.yaml").samefile(ROOT / "profiles" / "slurm" / "config.yaml")


def test_plan_shows_the_shipped_grid_without_a_network(project: Path) -> None:
    assert "grid: 11 models x 5 datasets x 5 temperatures" in output_of(project, "userturn", "plan")


def test_part_of_the_grid_is_run_from_a_file_of_ones_own(study: Path) -> None:
    (study / "study.yaml").rename(study / "mine.yaml")
    command = ["snakemake", "--cores", "2", "--configfile", "mine.yaml"]
    assert "Nothing to be done" in output_of(study, *command)


def test_rates_and_status_of_a_finished_study_are_printed(finished_study: Path) -> None:
    rates = output_of(finished_study, "userturn", "rates", "results", "--cells")
    assert rates.startswith("Not a finding")
    assert len(re.findall(r"^tiny +word-problems +[01] .*heuristic .*% \[", rates, re.M)) == 4
    assert " 5/5 " in rates
    status = output_of(finished_study, "userturn", "status")
    assert "tiny" in status
    planned = output_of(finished_study, "userturn", "plan")  # of the files of the last run here
    assert "grid: 1 model" in planned


def test_study_is_exported_and_a_table_explained(study: Path) -> None:
    assert "left out, with their hashes" in output_of(study, "userturn", "export", "results")
    assert ZipFile(study / "results.zip").testzip() is None
    said = output_of(study, "userturn", "why", "results/tables/rates.parquet")
    assert "rule        tabulate" in said


def test_a_study_is_audited_and_a_deleted_figure_fails_it(study: Path) -> None:
    assert "no finding" in output_of(study, "snakemake", "audit", "--cores", "1")
    (study / "results" / "figures" / "confusion.svg").unlink()
    said = output_of(study, "snakemake", "audit", "--cores", "1", ends=1)
    assert "results/figures/confusion.svg" in said


def test_a_study_is_compared_with_itself(finished_study: Path, tmp_path: Path) -> None:
    text = output_of(finished_study, "userturn", "compare", "results", "results")
    assert "4 shared cells, 4 of them made with the same settings" in text
    page = tmp_path / "page.html"
    output_of(finished_study, "userturn", "compare", "results", "results", "--html", str(page))
    assert "No turn is genuine in one study and not genuine in the other." in page.read_text()


def test_snakemakes_own_report_has_every_figure_and_the_main_tables(study: Path) -> None:
    output_of(study, "snakemake", "--configfile", "study.yaml", "--report", "report.zip")
    names = [Path(name).name for name in ZipFile(study / "report.zip").namelist()]
    figures = [path.name for path in (study / "results" / "figures").glob("*.svg")]
    assert set(figures) | {"rates.csv", "contrasts.csv"} <= set(names)


def test_rates_without_a_study_say_what_to_do(tmp_path: Path) -> None:
    said = output_of(tmp_path, "userturn", "rates", str(tmp_path), ends=1)
    assert said.startswith("error: ") and "run `snakemake` first" in said


MENTION = re.compile(r"(?<![\w/.\[])docs/\w+\.md")
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")


@pytest.mark.parametrize("doc", DOCS, ids=lambda path: path.name)
def test_every_mention_of_a_document_is_a_link_that_leads_somewhere(doc: Path) -> None:
    text = re.sub(r"(?m)^```[\s\S]*?^```|`[^`\n]*`|^ {4}(?![-*|]).*$", "", doc.read_text())
    targets = [target for target in LINK.findall(text) if "://" not in target]
    assert [target for target in targets if not (doc.parent / target).exists()] == []
    assert MENTION.findall(LINK.sub("]", text)) == []
