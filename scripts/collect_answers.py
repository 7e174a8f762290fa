"""Gather a model's answers to one dataset from the journal."""

from userturn.collecting import collect_answers
from userturn.grid import Grid
from userturn.logs import log_to

if __name__ == "__main__":
    log_to(snakemake.log[0])
    collect_answers(
        grid=Grid(snakemake.config),
        model=snakemake.wildcards.model,
        dataset=snakemake.wildcards.dataset,
        path_to_answers=snakemake.output.answers,
    )
