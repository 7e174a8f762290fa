"""Write a round's page for annotators, and the same task for Label Studio."""

from userturn.humans.task_page import build_annotation
from userturn.provenance.job_record import recorded

if __name__ == "__main__":
    with recorded(snakemake):
        build_annotation(
            round_name=snakemake.wildcards.round,
            path_to_items=snakemake.input.blind,
            path_to_rubric=snakemake.input.rubric,
            path_to_labelled=snakemake.input.labelled,
            path_to_page=snakemake.output.page,
            path_to_tasks=snakemake.output.tasks,
            path_to_config=snakemake.output.config,
        )
