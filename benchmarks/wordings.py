"""Whether a judge's prompt may say that a language model wrote the turn, which people also write.

Run from the project's root: `python benchmarks/wordings.py TREES [TURNS]`. TREES is the file of
`heuristic.py`; TURNS is how many of data/labelled/real_turns.jsonl are read, all if left out. The
demo's model, served by vLLM on this machine's CPU, judges each turn with data/scored_prompt_2.txt,
and with the same prompt that claims an author. For each source it prints the mean probability of a
clear follow-up under both wordings, and the paired difference with 95% limits over conversations;
benchmarks/judges.md has them.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.likelihood_judge import shown
from benchmarks.real_turns import by_source, read_turns
from userturn.cli.judge_card import LabelledCell
from userturn.config.load import load_config
from userturn.controls.control_turn import control_turn
from userturn.datasets.prepare import MESSAGE
from userturn.generation.collect import USER_TURNS_SCHEMA
from userturn.judges.judge import verdicts_table
from userturn.judges.kinds import kind_of
from userturn.judges.pending_cells import fill_journal
from userturn.judges.verdict import GENUINE
from userturn.stats.clustered_measures import clustered_mean
from userturn.storage.table_files import write_table
from userturn.study.contents import LABELLED
from userturn.study.grid import Grid
from userturn.study.judge import judge_of

PROFILES = ["config.yaml", "profiles/demo/study.yaml", "profiles/demo/judge.yaml"]
JUDGE = "smollm2-135m-scored"
CLAIMS = {
    "that stands in the place of a user's next message": "that a language model wrote in the "
    "place of a user",
    "the message that\nstands under the user's role": "the message that\nthe model wrote under "
    "the user's role",
}


def claiming(prompt: str) -> str:
    """Return a prompt that says a language model wrote the turn."""
    for plain, claim in CLAIMS.items():
        if plain not in prompt:
            raise ValueError(f"data/scored_prompt_2.txt has no '{plain}'")
        prompt = prompt.replace(plain, claim)
    return prompt


def main() -> None:
    """Judge real turns with both wordings and print the table."""
    turns = [turn for turn in read_turns(Path(sys.argv[1])) if turn.messages]
    if len(sys.argv) > 2:
        turns = turns[:: max(1, len(turns) // int(sys.argv[2]))]
    config = load_config(PROFILES)
    plain = config["judges"][JUDGE]
    with TemporaryDirectory() as folder:
        other = Path(folder, "claiming.txt")
        other.write_text(claiming(Path("data/scored_prompt_2.txt").read_text()))
        config["judges"] = {"plain": plain, "claiming": plain | {"prompt": str(other)}}
        config["run"] |= {"judges": list(config["judges"])}
        grid = Grid(config, Path(folder, "results"))
        paths = [Path(folder, name) for name in ("user_turns.parquet", "items.parquet")]
        said = [
            control_turn(LABELLED, LABELLED, LABELLED, t.id, t.messages[-1]["content"], t.text)
            for t in turns
        ]
        write_table(pl.DataFrame(said, schema=USER_TURNS_SCHEMA), paths[0], "")
        items = [{"item": t.id, "messages": list(t.messages[:-1])} for t in turns]
        schema = {"item": pl.String, "messages": pl.List(MESSAGE)}
        write_table(pl.DataFrame(items, schema=schema), paths[1], "")
        found = {name: of_judge(grid, name, *map(str, paths)) for name in config["judges"]}
    print("| source | turns | without | with | difference |\n|---|---|---|---|---|")
    for source, part in by_source(turns).items():
        both = [(found["plain"][t.id], found["claiming"][t.id]) for t in part]
        change = clustered_mean([b - a for a, b in both], [t.conversation for t in part])
        means = [sum(column) / len(part) for column in zip(*both, strict=True)]
        cells = [f"{mean:.3f}" for mean in means]
        print(f"| {source} | {len(part)} | {' | '.join(cells)} | {shown(change)} |")


def of_judge(grid: Grid, name: str, user_turns: str, items: str) -> dict[str, float]:
    """Return the probability of a clear follow-up of each turn, by its id."""
    judge, cell = judge_of(grid, name), LabelledCell(user_turns, items)
    fill_journal(judge, [cell])
    judged = kind_of(judge.settings).verdicts(judge, cell, 0)
    table = pl.concat([verdicts_table(judge, part, verdicts) for part, verdicts in judged])
    return {
        row["item"]: {p["label"]: p["probability"] for p in row["probabilities"]}[GENUINE]
        for row in table.to_dicts()
    }


if __name__ == "__main__":
    main()
