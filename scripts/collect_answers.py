"""Collect a model's answers to one dataset from the journal."""

from userturn.generation.collect import collect_answers
from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid

if __name__ == "__main__":
    with recorded(snakemake):
        collect_answers(
            grid=Grid(snakemake.config),
            model=snakemake.wildcards.model,
            dataset=snakemake.wildcards.dataset,
            path_to_answers=snakemake.output.answers,
        )
