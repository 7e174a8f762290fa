"""Draw how often a model's turn is taken for a person's."""

from userturn.figures.draw import draw_figures
from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid

if __name__ == "__main__":
    with recorded(snakemake):
        draw_figures(
            grid=Grid(snakemake.config),
            identity=snakemake.params.identity,
            paths_to_tables=dict(snakemake.input.items()),
            paths_to_figures=dict(snakemake.output.items()),
        )
