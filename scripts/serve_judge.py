"""Serve a judge's model once and work through every pending cell of it."""

from userturn.grid import Grid
from userturn.logs import log_to
from userturn.serving import serve_judge

if __name__ == "__main__":
    log_to(snakemake.log[0])
    serve_judge(
        grid=Grid(snakemake.config),
        name=snakemake.wildcards.judge,
        pending=snakemake.params.pending,
        paths_to_user_turns=snakemake.input.user_turns,
        path_to_marker=snakemake.output.marker,
    )
