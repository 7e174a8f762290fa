"""Gather one cell's user turns from the journal."""

from userturn.collecting import collect_user_turns
from userturn.grid import Grid
from userturn.logs import log_to
from userturn.study import cell_of

if __name__ == "__main__":
    log_to(snakemake.log[0])
    collect_user_turns(
        grid=Grid(snakemake.config),
        cell=cell_of(snakemake.wildcards),
        path_to_user_turns=snakemake.output.user_turns,
    )
