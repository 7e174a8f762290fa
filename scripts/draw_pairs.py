"""Draw one round of pairs, once: what annotators see, and separately the key."""

from userturn.humans.pairs import draw_pairs
from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid
from userturn.workflow.humans import HumanGrid
from userturn.workflow.pairs import PairGrid

if __name__ == "__main__":
    with recorded(snakemake):
        draw_pairs(
            pairs=PairGrid(HumanGrid(Grid(snakemake.config))),
            round_name=snakemake.wildcards.round,
            paths_to_user_turns=snakemake.input.user_turns,
            paths_to_datasets=snakemake.input.datasets,
            paths_to_descriptions=snakemake.input.models,
            paths_to_earlier_keys=snakemake.input.earlier_keys,
            path_to_key=snakemake.output.key,
            path_to_items=snakemake.output.blind,
        )
