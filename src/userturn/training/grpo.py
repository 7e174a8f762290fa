"""Reinforcement learning: TRL's GRPO trainer, its rewards, and how conversations continue."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from userturn.config.recipes import PROMPTS, endpoints_of
from userturn.datasets.messages import Message
from userturn.prompts.chat_template import Template, TemplateError
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid
from userturn.study.judge import judge_of
from userturn.training.job import TrainerParts, Training
from userturn.training.reward_endpoints import training_endpoints
from userturn.training.rewards import Reward, SampledTurn, rewards_of
from userturn.training.rollout_prompts import Task, tasks
from userturn.training.simulated_user import Endpoints, Rollout, continued


def _trl_reward(
    reward: Reward, template: Template, found: Sequence[Task], stops: Sequence[int]
) -> Callable[..., list[float | None]]:
    """Return a reward in TRL's form; completions are decoded as in the study."""

    def score(
        completion_ids: Sequence[Sequence[int]], task: Sequence[int], **_: Any
    ) -> list[float | None]:
        said = [ids[:-1] if ids and ids[-1] in stops else ids for ids in completion_ids]
        turns = zip(said, task, strict=True)
        return reward.score([found[number].drawn(template.decode(ids)) for ids, number in turns])

    score.__name__ = reward.name  # as the trainer's log calls it
    return score


def _rollouts(
    training: Training, template: Template, ask: Endpoints, trainers: Sequence[Any]
) -> Callable[[Sequence[SampledTurn]], list[Rollout]]:
    """Return the function that continues conversations after drawn turns, equal turns once."""
    how = training.recipe["grpo"]
    played: dict[str, list[Rollout]] = {}

    def write(conversations: Sequence[Sequence[Message]]) -> list[str]:
        return write_answers(trainers[0], template, conversations, how["max_tokens"])

    def play(drawn: Sequence[SampledTurn]) -> list[Rollout]:
        key = fingerprint([[turn.messages, turn.said] for turn in drawn])
        if key not in played:
            played.clear()
            begun = [
                Rollout(
                    (*turn.messages, {"role": "assistant", "content": turn.said}),
                    len(turn.messages),
                    turn.goal or "",
                )
                for turn in drawn
            ]
            played[key] = begun
            if "simulator" in how:
                prompt = PROMPTS["simulator"].read_text()
                played[key] = continued(begun, how["simulator"]["turns"], prompt, ask, write)
        return played[key]

    return play


def _drawing(how: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recipe's settings of drawing and learning, as arguments of GRPOConfig."""
    return {
        "num_generations": how["draws"],
        "max_completion_length": how["max_tokens"],
        "temperature": how["temperature"],
        "beta": how["kl"],
        "num_iterations": how["iterations"],
        "epsilon": how["clip"],
    }


def reinforced_trainer(grid: Grid, training: Training, parts: TrainerParts) -> Any:
    """Return TRL's GRPOTrainer over the tasks of all conversations.

    Args:
        grid: the study's grid, whose judges may be asked.
        training: a training by a recipe of the method grpo.
        parts: parts of the trainer.
    """
    from trl import GRPOConfig, GRPOTrainer

    how, template = training.recipe["grpo"], parts.template
    found = tasks(template, training.rows, how["turn"], how["max_prompt_tokens"])
    stops = template.stop_token_ids if how["turn"] == "user" else template.end_token_ids
    parts.model.generation_config.eos_token_id = list(stops)
    trainers: list[Any] = []
    rewards = _rewards(grid, training, template, trainers)
    weights = [float(reward.weight) for reward in rewards]
    configuration = GRPOConfig(**parts.arguments, **_drawing(how), reward_weights=weights)
    prompts = [{"prompt": task.prompt.text, "task": number} for number, task in enumerate(found)]
    of_trl = [_trl_reward(reward, template, found, stops) for reward in rewards]
    trainer = parts.trainer(GRPOTrainer, configuration, prompts, reward_funcs=of_trl)
    trainers.append(trainer)
    return trainer


def _rewards(
    grid: Grid, training: Training, template: Template, trainers: Sequence[Any]
) -> list[Reward]:
    """Return the rewards of a recipe; `trainers` will hold the trainer that writes answers."""
    named = endpoints_of(training.recipe)
    judges = {name: judge_of(grid, name) for name in named.values()}
    ask = training_endpoints(judges, named, training.model)
    return rewards_of(
        training.recipe,
        judges,
        f"training/{training.model}",
        ask,
        _rollouts(training, template, ask, trainers),
        lambda text: len(template.tokenizer(text, add_special_tokens=False)["input_ids"]),
        PROMPTS["interactivity"].read_text(),
    )


def write_answers(
    trainer: Any,
    template: Template,
    conversations: Sequence[Sequence[Message]],
    max_tokens: int,
) -> list[str]:
    """Return the present model's own next answer in each conversation.

    It is empty if no prompt can be made because the simulated user wrote a special token.
    """
    import torch
    from trl.models import unwrap_model_for_generation

    prompts = {i: ids for i, m in enumerate(conversations) if (ids := _answer_ids(template, m))}
    longest = max(map(len, prompts.values()), default=0)
    if not longest:
        return [""] * len(conversations)
    pad = template.tokenizer.pad_token_id
    padded = torch.tensor([[pad] * (longest - len(p)) + p for p in prompts.values()])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts.values()])
    with (
        torch.no_grad(),
        unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as model,
    ):
        written = model.generate(
            padded.to(model.device),
            attention_mask=mask.to(model.device),
            max_new_tokens=max_tokens,
            do_sample=True,
            temperature=trainer.args.temperature,
            eos_token_id=list(template.end_token_ids),
            pad_token_id=pad,
        )[:, longest:]
    said = {i: _said(template, row.tolist()) for i, row in zip(prompts, written, strict=True)}
    return [said.get(i, "") for i in range(len(conversations))]


def _answer_ids(template: Template, messages: Sequence[Message]) -> list[int]:
    try:
        return list(template.answer_prompt(messages).token_ids)
    except TemplateError:
        return []


def _said(template: Template, ids: Sequence[int]) -> str:
    """Return the text of a drawn answer, up to the token that ends it."""
    ends = [i for i, token in enumerate(ids) if token in template.end_token_ids]
    return template.decode(ids[: ends[0]] if ends else ids).strip()
