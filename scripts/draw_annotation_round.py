"""Draw one round from all cells, once: what annotators see, and separately the key."""

from userturn.humans.rounds import draw_annotation_round
from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid
from userturn.workflow.humans import HumanGrid

if __name__ == "__main__":
    with recorded(snakemake):
        draw_annotation_round(
            humans=HumanGrid(Grid(snakemake.config)),
            round_name=snakemake.wildcards.round,
            paths_to_samples=snakemake.input.samples,
            paths_to_user_turns=snakemake.input.user_turns,
            paths_to_datasets=snakemake.input.datasets,
            paths_to_descriptions=snakemake.input.models,
            paths_to_earlier_keys=snakemake.input.earlier_keys,
            paths_to_earlier_annotations=snakemake.input.earlier_annotations,
            path_to_key=snakemake.output.key,
            path_to_items=snakemake.output.blind,
        )
