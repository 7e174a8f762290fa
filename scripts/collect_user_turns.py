"""Gather one cell's user turns from the journal."""

from userturn.cells import cell_of
from userturn.collecting import collect_user_turns
from userturn.grid import Grid
from userturn.provenance import recorded

if __name__ == "__main__":
    with recorded(snakemake):
        collect_user_turns(
            grid=Grid(snakemake.config),
            cell=cell_of(snakemake.wildcards),
            path_to_user_turns=snakemake.output.user_turns,
        )
