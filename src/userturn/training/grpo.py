"""Reinforcement learning: TRL's GRPO trainer, its rewards, and how conversations continue.

No PPO: TRL removed its trainer (pull request 7020, September 2026), which since 0.12 took a reward
model, not a function. GRPO has PPO's clipped ratio (`clip`, `iterations`), and a group's mean in
place of a value network, as in verl's own recipe for CollabLLM.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from userturn.config.recipes import PROMPTS, endpoints_of
from userturn.datasets.messages import Message, ShownAnswer
from userturn.errors import UserError
from userturn.generation.scorer import Exchange
from userturn.prompts.chat_template import Prompt, Template, TemplateError
from userturn.storage.hashing import fingerprint
from userturn.storage.journal import Writer
from userturn.study.grid import Grid
from userturn.study.judge import judge_of
from userturn.training.curve import next_prompt, prompt_ids, written
from userturn.training.draws import draws_of
from userturn.training.learnt_turns import held_out
from userturn.training.reward_endpoints import KeptReplies, training_endpoints
from userturn.training.rewards import (
    SampledTurn,
    Score,
    Scores,
    accuracy,
    complete,
    followup,
    interactivity,
    length,
)
from userturn.training.simulated_user import Endpoints, Rollout, continued
from userturn.training.trainer_inputs import TrainerParts, Training
from userturn.training.turn_gains import gains

OTHER = {"user": "assistant", "assistant": "user"}


@dataclass(frozen=True)
class Task:
    """A prompt, and the data by which its draws are rewarded."""

    prompt: Prompt  # ends in the header of the turn to draw
    messages: tuple[Message, ...]  # before that turn
    reference_answer: str | None  # of the problem
    goal: str | None  # what a simulated user wants

    def sampled(self, text: str) -> SampledTurn:
        """Return a turn that was drawn for this task, with the task's data."""
        return SampledTurn(self.messages, text, self.reference_answer, self.goal)


def tasks(
    template: Template, rows: Sequence[Mapping[str, Any]], turn: str, max_tokens: int
) -> list[Task]:
    """Return a task for each place in the conversations where the role `turn` is next.

    Prompts are made as in the study: for a user turn, the probe after an answer. Equal prompts
    count once, and prompts of more than `max_tokens` tokens are left out.

    Raises:
        UserError: there is no such place, or the trainer would read other tokens than the study.
    """
    by_prompt: dict[str, Task] = {}
    for row in rows:
        messages = row["messages"]
        for end in range(1, len(messages) + 1):
            if messages[end - 1]["role"] != OTHER[turn]:
                continue
            try:
                prompt = next_prompt(template, messages[:end])
            except TemplateError as error:
                print(f"left out: {error}")
                continue
            task = Task(prompt, tuple(messages[:end]), row["reference_answer"], row["goal"])
            if len(prompt.token_ids) <= max_tokens:
                by_prompt.setdefault(prompt.text, task)
    if not by_prompt:
        raise UserError(
            f"the training data has no place for a turn of the {turn} after at most {max_tokens} "
            "tokens; correct `data` or `max_prompt_tokens` in the recipe"
        )
    _check_tokens(template, list(by_prompt.values()))
    return list(by_prompt.values())


def tasks_of(template: Template, training: Training) -> list[Task]:
    """Return the tasks of the conversations that are learnt, with a reference if one is needed."""
    how, others = training.recipe["grpo"], held_out(training.rows, training.recipe)
    rows = [row for row in training.rows if row["conversation"] not in others]
    if "accuracy" in how["rewards"]:
        rows = [row for row in rows if row["reference_answer"] is not None]
    return tasks(template, rows, how["turn"], how["max_prompt_tokens"])


def _check_tokens(template: Template, grpo_tasks: Sequence[Task]) -> None:
    read = template.tokenizer(text=[task.prompt.text for task in grpo_tasks])["input_ids"]
    differ = sum(
        list(ids) != list(task.prompt.token_ids) for ids, task in zip(read, grpo_tasks, strict=True)
    )
    if differ:
        raise UserError(
            f"the trainer would read other tokens than the study in {differ} of {len(grpo_tasks)} "
            "prompts: this tokenizer adds tokens of its own, or a message holds a special token; "
            "train this model by sft"
        )


Draw = Callable[[Sequence[Sequence[int]], Sequence[int]], list[SampledTurn]]
"""Returns the turns of completions, by their token ids and the numbers of their tasks."""
Play = Callable[[Sequence[SampledTurn]], list[Rollout]]
"""Continues the conversations of drawn turns."""
Note = Callable[[Sequence[Rollout], Mapping[str, Scores]], None]
"""Notes draws: their conversations, and their rewards by name."""


def _trl_rewards(
    rewards: Mapping[str, Score],
    weights: Mapping[str, float],
    draw: Draw,
    play: Play,
    note: Note,
) -> list[Callable[..., Scores]]:
    """Return rewards in TRL's form, by name.

    TRL asks for one reward after the other. The first call computes all, since a draw counts with
    all rewards or not at all.
    """
    present: dict[str, Scores] = {}

    def score_all(sampled: Sequence[SampledTurn]) -> None:
        rollouts = play(sampled)
        scores = {name: score(sampled, rollouts) for name, score in rewards.items()}
        note(rollouts, scores)
        present.update(complete(scores, weights))

    def score_function(name: str) -> Callable[..., Scores]:
        def score(completion_ids: Sequence[Sequence[int]], task: Sequence[int], **_: Any) -> Scores:
            if not present:
                score_all(draw(completion_ids, task))
            return present.pop(name)

        score.__name__ = name  # as the trainer's log calls it
        return score

    return [score_function(name) for name in rewards]


def _rollouts(
    training: Training, template: Template, ask: Endpoints, trainers: Sequence[Any]
) -> Play:
    how = training.recipe["grpo"]

    def write(conversations: Sequence[Sequence[Message]]) -> list[str]:
        return write_answers(trainers[0], template, conversations, how["max_tokens"])

    def play(sampled: Sequence[SampledTurn]) -> list[Rollout]:
        begun = [
            Rollout(
                (*turn.messages, {"role": how["turn"], "content": turn.text}),
                len(turn.messages),
                turn.goal or "",
            )
            for turn in sampled
        ]
        if "simulator" not in how:
            return begun
        prompt = PROMPTS["simulator"].read_text()
        return continued(begun, how["simulator"]["turns"], prompt, ask, write)

    return play


def reinforced_trainer(grid: Grid, training: Training, parts: TrainerParts) -> Any:
    """Return TRL's GRPOTrainer over `tasks_of` a training, by a recipe of this method."""
    from trl import GRPOConfig, GRPOTrainer

    how, template = training.recipe["grpo"], parts.template
    tasks = tasks_of(template, training)
    stops = template.stop_token_ids if how["turn"] == "user" else template.end_token_ids
    parts.model.generation_config.eos_token_id = list(stops)
    trainers: list[Any] = []

    def draw(completions: Sequence[Sequence[int]], numbers: Sequence[int]) -> list[SampledTurn]:
        texts = [ids[:-1] if ids and ids[-1] in stops else ids for ids in completions]
        turns = zip(texts, numbers, strict=True)
        return [tasks[number].sampled(template.decode(ids)) for ids, number in turns]

    configuration = GRPOConfig(
        **parts.arguments,
        num_generations=how["draws"],
        max_completion_length=how["max_tokens"],
        temperature=how["temperature"],
        beta=how["kl"],
        num_iterations=how["iterations"],
        epsilon=how["clip"],
        reward_weights=[float(reward["weight"]) for reward in how["rewards"].values()],
    )
    prompts = [{"prompt": task.prompt.text, "task": number} for number, task in enumerate(tasks)]
    score_function = _rewards(grid, training, template, draw, trainers, tasks)
    trainer = parts.trainer(GRPOTrainer, configuration, prompts, reward_funcs=score_function)
    trainers.append(trainer)
    return trainer


def _rewards(
    grid: Grid,
    training: Training,
    template: Template,
    draw: Draw,
    trainers: Sequence[Any],
    grpo_tasks: Sequence[Task],
) -> list[Callable[..., Scores]]:
    """Return a recipe's rewards, where `trainers` will hold the trainer that writes answers."""
    entries, named = training.recipe["grpo"]["rewards"], endpoints_of(training.recipe)
    weights = {name: entry["weight"] for name, entry in entries.items()}
    judges = {name: judge_of(grid, name) for name in named.values()}
    stored_replies = KeptReplies(training.checkpoints / "replies")
    paid_by, prompt = f"training/{training.model}", PROMPTS["interactivity"].read_text()
    ask = training_endpoints(judges, named, paid_by, stored_replies)
    notes = Writer(training.checkpoints / "draws")

    def n_tokens(text: str) -> int:
        return len(template.tokenizer(text, add_special_tokens=False)["input_ids"])

    def note(rollouts: Sequence[Rollout], scores: Mapping[str, Scores]) -> None:
        for row in draws_of(trainers[0].state.global_step + 1, rollouts, scores, weights):
            notes.append(row)

    functions: dict[str, Score] = {
        "accuracy": lambda sampled, talks: accuracy(
            entries["accuracy"]["verifier"], talks, [turn.reference_answer for turn in sampled]
        ),
        "interactivity": lambda _, talks: interactivity(talks, ask, prompt),
        "length": lambda _, talks: length(talks, n_tokens),
        "followup": lambda sampled, _: followup(
            sampled, judges[entries["followup"]["judge"]], paid_by, stored_replies
        ),
        "gain": lambda sampled, _: gains_by_base(trainers[0], template, sampled, grpo_tasks),
    }
    rewards = {name: functions[name] for name in entries}
    play = _rollouts(training, template, ask, trainers)
    return _trl_rewards(rewards, weights, draw, play, note)


def gains_by_base(
    trainer: Any, template: Template, sampled: Sequence[SampledTurn], grpo_tasks: Sequence[Task]
) -> Scores:
    """Return the gain of drawn user turns by the base, which training does not change.

    The other answers come from the tasks.
    """
    model = trainer.accelerator.unwrap_model(trainer.model_wrapped)
    others = [_exchange(task.messages, "") for task in grpo_tasks]
    turns = [_exchange(turn.messages, turn.text) for turn in sampled]
    was_training = model.training
    model.eval()
    with model.disable_adapter():
        scores = gains(model, template, turns, others)
    model.train(was_training)
    return scores


def _exchange(messages: Sequence[Message], text: str) -> Exchange:
    answer = ShownAnswer(messages[-1]["content"])
    return Exchange(fingerprint(list(messages)), tuple(messages[:-1]), answer, text)


def write_answers(
    trainer: Any, template: Template, conversations: Sequence[Sequence[Message]], max_tokens: int
) -> list[str]:
    """Return the present model's own next answer in each conversation.

    An answer is empty if no prompt can be made because the simulated user wrote a special token.
    """
    from trl.models import unwrap_model_for_generation

    prompts = [prompt_ids(template, messages) for messages in conversations]
    ends, heat = template.end_token_ids, trainer.args.temperature
    with unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as model:
        return written(model, template, prompts, ends, max_tokens, do_sample=True, temperature=heat)
