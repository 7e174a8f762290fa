"""Check the judges of a configuration: by their kind, by who uses which, and by what serves them.

The model of a judge that is served here is named by the same rules as any other. A job of its own
loads it on a GPU, so a model that vLLM would refuse is reported before that job waits.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from userturn.config.entries import Config, selected
from userturn.config.recipes import RECIPES, endpoints_of, load_recipe
from userturn.endpoints.usage import TOKEN_LIMITS
from userturn.errors import ConfigError, near_miss
from userturn.judges.kinds import complete_judges, kind_of
from userturn.judges.question import judge_prompt
from userturn.models.engine_setup import Setup
from userturn.models.fetch import check_access, check_source, folder_at_hand, is_local
from userturn.models.setup_refusals import check_setup
from userturn.storage.files import read_text


def check_judges(config: Config) -> None:
    """Check that each judge's entry fits its kind and its use, or raise ConfigError."""
    if config["primary_judge"] not in selected(config, "judges"):
        near = near_miss(config["primary_judge"], selected(config, "judges"))
        raise ConfigError(
            f"primary_judge: '{config['primary_judge']}' is not among run.judges{near}"
        )
    for name, entry in complete_judges(config).items():
        kind_of(entry).check(f"judges.{name}", entry, config)
    _check_graders(config)
    _check_recipes(config)


def _check_graders(config: Config) -> None:
    for name, dataset in config["datasets"].items():
        if dataset["verifier"] == "rubric":
            judge = config["judges"].get(dataset.get("judge"))
            if judge is None or not kind_of(judge).HAS_ENDPOINT:
                raise ConfigError(
                    f"datasets.{name}: the verifier 'rubric' asks a judge; name one with an "
                    "endpoint as its `judge`"
                )


def _check_recipes(config: Config) -> None:
    lines = [line for line in config["models"].values() if isinstance(line, Mapping)]
    for recipe in sorted({line["recipe"] for line in lines if "recipe" in line}):
        for what, judge in endpoints_of(load_recipe(recipe)).items():
            entry = config["judges"].get(judge)  # a missing one is reported with its recipe
            if what != "followup" and entry is not None and not kind_of(entry).HAS_ENDPOINT:
                raise ConfigError(
                    f"{RECIPES / recipe}.yaml: {what}: the judge '{judge}' is not an endpoint; "
                    "name one that is"
                )


def judge_setup(name: str, entry: Mapping[str, Any], folder: Path) -> Setup:
    """Return the setup of a served judge, from the folder with its model's files."""
    options = entry["vllm"]
    length = options.get("max_model_len")
    limits = [entry["settings"].get(key) for key in TOKEN_LIMITS]
    # 1 where the server may write as much as there is room.
    n_written = next((limit for limit in limits if type(limit) is int), 1)
    return Setup(
        f"judge '{name}'",
        "vllm",
        folder,
        max_model_len=length if type(length) is int else None,
        writes={"a verdict": n_written},
        gpus=entry["gpus"],
        gpu_model=entry.get("gpu_model"),
        dtype=options.get("dtype", "auto"),
        trusts=options.get("trust_remote_code", False),
        options=options,
        prompt_tokens=_shortest_question(entry, folder),
        has_weights=is_local(entry["model"]),
    )


def _shortest_question(entry: Mapping[str, Any], folder: Path) -> int:
    """Return the number of tokens of a question about an empty turn, 1 without tokenizer.json."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        return 1
    from tokenizers import Tokenizer

    prompt = judge_prompt(read_text(entry["rubric"]), read_text(entry["prompt"]), {})
    about = prompt.user.safe_substitute(marker="", conversation="", turn="")
    tokenizer = Tokenizer.from_file(str(path))
    return sum(len(tokenizer.encode(text).ids) for text in (prompt.system, about))


def check_served_judge(name: str, entry: Mapping[str, Any]) -> None:
    """Refuse a judge whose model its server could not load, as far as files or the hub tell."""
    source, revision = entry["model"], entry.get("revision") or "main"
    check_source(source)
    folder = folder_at_hand(source, revision)
    if folder is not None:
        check_setup(judge_setup(name, entry, folder))
    elif not is_local(source):
        check_access(source, revision)
