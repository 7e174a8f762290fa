"""Trains a tiny model in a process of its own, disturbed in every way, and prints what happened."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from tests.support.judge_server import Asked, JudgeServer, completion, http, judge_server
from userturn.config.load import load_config
from userturn.config.recipes import load_recipe
from userturn.errors import UserError
from userturn.generation.describe_model import describe_model
from userturn.storage.hashing import files_fingerprint
from userturn.study.grid import Grid
from userturn.training.checkpoints import last_checkpoint
from userturn.training.data import prepare_training_data
from userturn.training.train import train

GENUINE = {"rationale": "r", "label": "genuine_followup", "genuine": True}
N_STEPS = 3
DRAWS = 2
RECIPES = ("probed", "spoken", "kept", "unclear", "zero", "taught", "gained")


def reply(asked: Asked) -> bytes:
    """Answer as the simulated user, as a judge of interactivity, or as a judge of turns."""
    text = asked.body["messages"][0]["content"]
    if text.startswith("You play a person"):
        return completion("And how many are left?")
    if text.startswith("You judge how well"):
        return completion({"thought": "t", "interactivity": 0.5})
    return completion(GENUINE)


def write_recipe(name: str, like: str, every: int = 1, **changes: Any) -> None:
    """Write a recipe that differs from a shipped one, in a few steps."""
    recipe = yaml.safe_load(Path(f"data/recipes/{like}.yaml").read_text())
    recipe["data"] = [{"file": "answered.jsonl", "format": "messages"}]
    recipe["lora"]["modules"] = "all-linear"
    recipe["optimisation"] |= {
        "steps": N_STEPS, "batch": DRAWS, "accumulation": 1, "checkpoint_every": every,
    }  # fmt: skip
    recipe["grpo"] |= {"draws": DRAWS, "max_prompt_tokens": 999, "max_tokens": 4} | changes
    Path(f"data/recipes/{name}.yaml").write_text(yaml.safe_dump(recipe))


def grid_at(url: str) -> Grid:
    """Return the test study with two trained models, whose endpoints are at a URL."""
    config = load_config(["config.yaml", "study.yaml"])
    config["models"] |= {name: {"base": "tiny", "recipe": name} for name in RECIPES}
    config["run"]["models"] = ["tiny", *RECIPES]
    entry = {"kind": "endpoint", "base_url": url, "model": "m", "attempts": 1}
    config["judges"]["other"] = entry
    return Grid(config)


def attempt(grid: Grid, model: str) -> dict[str, Any]:
    """Train once, and return what the user is told and which step is kept."""
    folder = Path("results/training") / model
    data = folder / "data.parquet"
    recipe = load_recipe(grid.entries[model]["recipe"])
    prepare_training_data(recipe, "id", folder / "pins.json", data)
    said = None
    try:
        identity = grid.training_identity(model)
        train(grid, model, identity, 1, data, folder / "model", folder / "training.json")
    except UserError as error:
        said = str(error)
    checkpoints = next(Path("results/checkpoints").glob(f"{model}/*"), Path("none"))
    return {"said": said, "step": last_checkpoint(checkpoints)[0]}


def watched(model: str, answer: Any) -> dict[str, Any]:
    """Train once against a server, and add how often it was asked."""
    server: JudgeServer
    with judge_server(answer) as server:
        found = attempt(grid_at(server.url), model)
    return found | {"n_asked": len(server.asked)}


def broken_from_the_last_step(asked: Asked) -> bytes:
    return reply(asked) if asked.number < 2 * DRAWS else http(503, b"down")


def every_second_is(content: Any) -> Any:
    """Give each first question the score 0.5, and each second one another reply."""

    def answer(asked: Asked) -> bytes:
        return completion({"thought": "t", "interactivity": 0.5} if asked.number % 2 else content)

    return answer


def broken_from_the_second_step(asked: Asked) -> bytes:
    return reply(asked) if asked.number < DRAWS else http(400, b"no such model")


def stops_at_the_first_question(asked: Asked) -> bytes:
    if asked.number == 0:
        os.kill(os.getpid(), signal.SIGTERM)
    return reply(asked)


def main() -> None:
    """Run every disturbance after the other and print what was found as JSON."""
    followup = {"followup": {"weight": 1, "judge": "other"}}
    write_recipe("probed", "demo-rl", rewards=followup)
    rewards = {
        "accuracy": {"weight": 1, "verifier": "numeric"},
        "interactivity": {"weight": 2, "endpoint": "other"},
        "length": {"weight": -1},
    }
    simulator = {"endpoint": "other", "turns": 1}
    write_recipe("spoken", "demo-rl", turn="assistant", rewards=rewards, simulator=simulator)
    write_recipe("kept", "demo-rl", every=N_STEPS, rewards=followup)
    write_recipe("gained", "demo-rl", rewards={"gain": {"weight": 1}})
    scored = {"interactivity": {"weight": 1, "endpoint": "other"}, "length": {"weight": 0.001}}
    for name in ("unclear", "zero"):
        write_recipe(name, "demo-rl", turn="assistant", rewards=scored)
    rows = Path("data/training/everyday_conversations.jsonl").read_text().splitlines()
    answered = [json.dumps(json.loads(row) | {"answer": "12"}) + "\n" for row in rows]
    taught = yaml.safe_load(Path("data/recipes/demo-sft.yaml").read_text())
    taught["optimisation"] |= {"epochs": 0.5, "batch": 2, "checkpoint_every": 5}
    taught["curve"] = {"items": 4, "max_tokens": 4, "verifier": "numeric"}
    taught["sft"]["max_tokens"] = 999  # its tokens are characters
    Path("data/recipes/taught.yaml").write_text(yaml.safe_dump(taught))
    Path("answered.jsonl").write_text("".join(answered))
    describe_model(grid_at("http://x"), "tiny", "results/models/tiny.json")
    found = {
        "broken": watched("probed", broken_from_the_second_step),
        "stopped": watched("probed", stops_at_the_first_question),
        "finished": watched("probed", reply),
    }
    weights = Path("results/training/probed/model")
    before = files_fingerprint(weights.iterdir())
    found["again"] = watched("probed", reply)
    found["again"]["is_equal"] = before == files_fingerprint(weights.iterdir())
    found["record"] = json.loads(Path("results/training/probed/training.json").read_text())
    found["spoken"] = watched("spoken", reply)
    found["spoken_record"] = json.loads(Path("results/training/spoken/training.json").read_text())
    found["down"] = watched("kept", broken_from_the_last_step)
    found["up"] = watched("kept", reply)
    for name, content in (("unclear", "good"), ("zero", {"thought": "t", "interactivity": 0})):
        found[name] = watched(name, every_second_is(content))
        found[f"{name}_record"] = json.loads(
            Path(f"results/training/{name}/training.json").read_text()
        )
    found["gained"] = watched("gained", reply)
    gained = pl.read_parquet("results/training/gained/draws.parquet")
    found["gains"] = gained.sort("step", "draw")["gain"].to_list()
    found["taught"] = watched("taught", reply)
    found["taught_record"] = json.loads(Path("results/training/taught/training.json").read_text())
    unclear, spoken = (
        pl.read_parquet(f"results/training/{name}/draws.parquet") for name in ("unclear", "spoken")
    )
    left_out = unclear.group_by("step").agg(pl.col("is_left_out").sum()).sort("step")
    roles = [[message["role"] for message in talk] for talk in spoken["continued"].to_list()]
    found["draws"] = {"unclear": list(map(list, left_out.rows())), "spoken": roles}
    Path("found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
