"""Gather one cell's user turns from the journal."""

from userturn.generation.collect import collect_user_turns
from userturn.provenance.job_record import recorded
from userturn.study.cells import cell_of
from userturn.study.grid import Grid

if __name__ == "__main__":
    with recorded(snakemake):
        collect_user_turns(
            grid=Grid(snakemake.config),
            cell=cell_of(snakemake.wildcards),
            path_to_user_turns=snakemake.output.user_turns,
        )
