"""Draw every figure, from the verdicts of the primary judge."""

from userturn.figures import draw_figures
from userturn.logs import log_to

if __name__ == "__main__":
    log_to(snakemake.log[0])
    draw_figures(
        judge=snakemake.params.judge,
        paths_to_tables=dict(snakemake.input.items()),
        paths_to_figures=dict(snakemake.output.items()),
    )
