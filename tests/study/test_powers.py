"""A stranger's study runs, reads and sends nothing that its user has not confirmed by its list."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.config.recipes import recipe_schema
from userturn.config.schema import config_schema
from userturn.errors import UserError
from userturn.prompts.perturbations import OPERATORS, perturbation_schema
from userturn.study.powers import check_may_run, powers

Config = dict[str, Any]
Edit = Callable[[Config], Any]
KINDS = {"harmless", "path", "address", "code", "key", "program"}
EVIL = "data/evil.py"
OUTSIDE = "/home/auditor/.ssh/id_rsa"
JUDGE = {"kind": "endpoint", "model": "m"}


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.chdir(ROOT)
    return load_config(["config.yaml", "profiles/demo/study.yaml"])


def unclassed(schema: Any, key: str) -> list[str]:
    """Return the keys of a schema of which nobody said what they could do."""
    if schema.get("power") in KINDS:
        return []
    below = {**schema.get("properties", {})}
    below |= {f"form {n}": form for n, form in enumerate(schema.get("oneOf", ()))}
    below |= {k: schema[k] for k in ("additionalProperties", "items") if schema.get(k)}
    if not below:
        return [] if schema == {"enum": [False]} or schema.keys() == {"required"} else [key]
    return [one for name, part in below.items() for one in unclassed(part, f"{key}.{name}")]


def test_every_key_of_the_configuration_and_of_recipes_is_classed() -> None:
    found = unclassed(config_schema(), "config") + unclassed(recipe_schema(), "recipe")
    assert found == ["config.perturbations.additionalProperties"]  # by its operator, as below


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_every_key_of_a_perturbation_is_classed(name: str) -> None:
    assert unclassed(perturbation_schema("x", {"operator": name}), name) == []


def test_a_key_that_nobody_classed_is_found() -> None:
    assert unclassed({"properties": {"new": {"type": "string"}}}, "a") == ["a.new"]


def test_both_objects_for_vllm_are_closed_and_have_no_text_but_names() -> None:
    keys = config_schema()["properties"]
    entries = [
        keys[of]["additionalProperties"]["properties"]["vllm"] for of in ("models", "judges")
    ]
    for vllm in (keys["vllm"], keys["judge_defaults"]["properties"]["vllm"], *entries):
        assert vllm["additionalProperties"] is False
        free = [
            n for n, one in vllm["properties"].items() if one.get("type") in ("string", "object")
        ]
        assert free in ([], ["reasoning_parser"])


def model(**more: Any) -> Edit:
    return lambda c: c["models"].update(evil={"source": "org/m", **more})


def judge(**more: Any) -> Edit:
    return lambda c: c["judges"].update(evil={**JUDGE, **more})


def dataset(**more: Any) -> Edit:
    return lambda c: c["datasets"]["gsm8k"].update(more)


def study(**more: Any) -> Edit:
    return lambda c: c.update(more)


def local(path: str) -> Edit:
    entry = {"file": path, "fields": {"prompt": "q"}, "verifier": "none"}
    return lambda c: c["datasets"].update(evil=entry)


# What is not known at all, or of another type: refused whatever the user says.
UNKNOWN: dict[str, Edit] = {
    "engine plugin": study(vllm={"structured_outputs_config": {"reasoning_parser_plugin": EVIL}}),
    "engine code": study(vllm={"trust_remote_code": True}),
    "engine class": study(vllm={"worker_extension_cls": "data.evil.Worker"}),
    "engine executor": study(vllm={"distributed_executor_backend": "data.evil.Executor"}),
    "engine processors": study(vllm={"logits_processors": ["data.evil:Processor"]}),
    "engine loader": study(vllm={"load_format": "dummy", "model_loader_extra_config": {}}),
    "engine download": study(vllm={"download_dir": OUTSIDE}),
    "engine transfer": study(vllm={"kv_transfer_config": {"kv_connector_module_path": EVIL}}),
    "engine number": study(vllm={"max_num_seqs": {"a": EVIL}}),
    "model plugin": model(vllm={"tool_parser_plugin": EVIL}),
    "model quantization": model(vllm={"quantization": EVIL}),
    "model hook": model(auto_map={"AutoModel": "evil.Model"}),
    "judge plugin": judge(serve=True, vllm={"tool_parser_plugin": EVIL, "trust_remote_code": True}),
    "judge parser": judge(serve=True, vllm={"reasoning_parser": "../data/evil"}),
    "judge middleware": judge(serve=True, vllm={"middleware": "data.evil.app"}),
    "judge template": judge(serve=True, vllm={"chat_template": OUTSIDE}),
    "judge host": judge(serve=True, vllm={"host": "0.0.0.0"}),
    "defaults plugin": lambda c: c["judge_defaults"].update(vllm={"tool_parser_plugin": EVIL}),
    "kind of judge": judge(kind="os"),
    "kind elsewhere": judge(kind="..data.evil"),
    "verifier elsewhere": dataset(verifier="..data.evil"),
    "operator": lambda c: c["perturbations"].update(evil={"operator": "exec", "file": EVIL}),
    "operator key": lambda c: c["perturbations"]["none"].update(file=OUTSIDE),
    "engine name": study(engine="data.evil"),
    "name of a model": lambda c: c["models"].update({"../evil": "org/m"}),
    "top": study(python=EVIL),
    "recipe elsewhere": model(base="gsm8k", recipe="../../evil"),
    "address form": judge(base_url="file:///etc/passwd"),
    "hub form": dataset(hub="https://author.example/data"),
    "GPU for the shell": model(gpu_model="h100; curl author.example"),
}
# What is known to be no harmless setting: refused unless exactly this is confirmed.
LISTED: dict[str, tuple[Edit, str]] = {
    "model's code": (model(trust_remote_code=True), "code     models.evil.trust_remote_code"),
    "all models' code": (
        lambda c: c["model_defaults"].update(trust_remote_code=True),
        "code     model_defaults.trust_remote_code",
    ),
    "model": (model(), 'program  models.evil.source: "org/m"'),
    "short model": (
        lambda c: c["models"].update(evil="./data/evil"),
        'program  models.evil.source: "./data/evil"',
    ),
    "dotted model": (
        lambda c: c["models"].update({"evil-0.5b": "./data/evil"}),
        'program  models.evil-0.5b.source: "./data/evil"',
    ),
    "served model": (model(endpoint="http://a.example/v1"), "address  models.evil.endpoint"),
    "model's key": (model(key_variable="AWS_KEY"), 'key      models.evil.key_variable: "AWS_KEY"'),
    "judge's address": (judge(base_url="http://a.example/v1"), "address  judges.evil.base_url"),
    "judge's key": (judge(key_variable="AWS_KEY"), "key      judges.evil.key_variable"),
    "served judge": (judge(serve=True), "program  judges.evil.serve"),
    "judge's code": (
        judge(serve=True, vllm={"trust_remote_code": True}),
        "code     judges.evil.vllm.trust_remote_code",
    ),
    "served by default": (
        lambda c: c["judge_defaults"].update(serve=True),
        "program  judge_defaults.serve",
    ),
    "scored judge": (judge(kind="scored", model="./data/evil"), "program  judges.evil.model"),
    "instruction": (dataset(instruction=OUTSIDE), "path     datasets.gsm8k.instruction"),
    "rows": (local(OUTSIDE), "path     datasets.evil.file"),
    "rows above": (local("data/../../rows"), "path     datasets.evil.file"),
    "rows at home": (local("~/rows"), "path     datasets.evil.file"),
    "rows by language": (
        lambda c: c["datasets"].update(
            evil={"file": {"de": OUTSIDE}, "fields": {"prompt": "q"}, "verifier": "none"}
        ),
        f'path     datasets.evil.file: "{OUTSIDE}"',
    ),
    "programs of rows": (dataset(verifier="code"), "program  datasets.gsm8k.verifier"),
    "template": (model(chat_template=OUTSIDE), "path     models.evil.chat_template"),
    "system prompt": (model(system=OUTSIDE), "path     models.evil.system"),
    "format": (study(formats={"evil": {"system": OUTSIDE}}), "path     formats.evil.system"),
    "rubric": (judge(rubric=OUTSIDE), "path     judges.evil.rubric"),
    "judge's prompt": (judge(prompt=OUTSIDE), "path     judges.evil.prompt"),
    "every judge's prompt": (
        lambda c: c["judge_defaults"].update(scored_prompt=OUTSIDE),
        "path     judge_defaults.scored_prompt",
    ),
    "texts": (
        lambda c: c["perturbations"]["neutral_answer"].update(texts=OUTSIDE),
        "path     perturbations.neutral_answer.texts",
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_setting_beyond_the_description_is_refused_in_a_sentence(
    name: str, config: Config, tmp_path: Path
) -> None:
    UNKNOWN[name](config)
    with pytest.raises(UserError) as error:
        check_may_run(Path("theirs.zip"), tmp_path / "results", config, "--sweep", "leave it out")
    said = str(error.value)
    assert "a setting whose effect is not known" in said and "\n" not in said


@pytest.mark.parametrize("name", LISTED)
def test_a_setting_that_is_not_harmless_is_listed_and_refused(
    name: str, config: Config, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit, line = LISTED[name]
    before = {str(power) for power in powers(config, tmp_path)}
    edit(config)
    with pytest.raises(UserError, match="running it does what is listed above"):
        check_may_run(Path("theirs.zip"), tmp_path / "results", config, "--sweep", "leave it out")
    listed = capsys.readouterr()
    new = [said for said in (listed.out + listed.err).splitlines() if said not in before]
    assert [said for said in new if said.startswith(line)]


def confirmed(config: Config, folder: Path) -> str:
    """Return the hash by which a list would be confirmed."""
    with pytest.raises(UserError) as error:
        check_may_run(Path("theirs.zip"), folder / "results", config, "--sweep", "leave it out")
    (name,) = re.findall(r"--trust ([0-9a-f]{64})", str(error.value))
    return str(name)


def test_exactly_what_was_listed_is_confirmed_by_its_hash(config: Config, tmp_path: Path) -> None:
    def ask(of: Config, name: str) -> None:
        check_may_run(Path("t"), tmp_path / "results", of, "--sweep", "leave it out", (), name)

    name = confirmed(config, tmp_path)
    ask(config, name)
    harmless = copy.deepcopy(config) | {"seed": 1, "vllm": {"max_num_seqs": 2}}
    ask(harmless, name)
    for edit, _ in LISTED.values():
        other = copy.deepcopy(config)
        edit(other)
        with pytest.raises(UserError, match="is of another list"):
            ask(other, name)


def test_the_shipped_study_reads_nothing_elsewhere_and_runs_no_code(
    config: Config, tmp_path: Path
) -> None:
    kinds = {power.kind for power in powers(config, tmp_path)}
    assert kinds == {"program", "address", "key"}  # its models, and the judge of the paper


def test_files_inside_the_study_need_no_word(config: Config, tmp_path: Path) -> None:
    before = powers(config, tmp_path)
    local("data/rows.jsonl")(config)
    dataset(instruction="data/text.txt")(config)
    assert powers(config, tmp_path) == before


def test_a_value_that_a_terminal_would_obey_is_written_out(config: Config, tmp_path: Path) -> None:
    model(source="org/m\x1b[2J\u202e")(config)
    (power,) = [one for one in powers(config, tmp_path) if one.key == "models.evil.source"]
    assert str(power) == 'program  models.evil.source: "org/m\\u001b[2J\\u202e"'


def recipe(folder: Path, **more: Any) -> None:
    content = yaml.safe_load((ROOT / "data/recipes/demo-sft.yaml").read_text())
    (folder / "data/recipes").mkdir(parents=True)
    (folder / "data/recipes/evil.yaml").write_text(yaml.safe_dump(content | more))


def test_a_recipe_counts_like_the_configuration(config: Config, tmp_path: Path) -> None:
    config["models"]["evil"] = {"base": "smollm2-135m", "recipe": "evil"}
    recipe(tmp_path, data=[{"file": OUTSIDE, "format": "messages"}])
    found = [str(power) for power in powers(config, tmp_path) if power.kind == "path"]
    assert found == [f'path     data/recipes/evil.yaml.data.file: "{OUTSIDE}"']


@pytest.mark.parametrize("more", [{"callback": EVIL}, {"optimisation": {"optimizer": EVIL}}])
def test_a_recipe_says_nothing_unknown(config: Config, tmp_path: Path, more: Config) -> None:
    config["models"]["evil"] = {"base": "smollm2-135m", "recipe": "evil"}
    recipe(tmp_path, **more)
    with pytest.raises(UserError, match=r"evil\.yaml.*unknown key"):
        powers(config, tmp_path)


def test_a_recipe_that_is_a_link_elsewhere_is_not_read(config: Config, tmp_path: Path) -> None:
    config["models"]["evil"] = {"base": "smollm2-135m", "recipe": "evil"}
    (tmp_path / "study/data/recipes").mkdir(parents=True)
    (tmp_path / "elsewhere.yaml").write_text("secret: of the auditor")
    (tmp_path / "study/data/recipes/evil.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    with pytest.raises(UserError, match="outside of the study"):
        powers(config, tmp_path / "study")
