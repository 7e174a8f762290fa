"""Draw the labels of each judge against the labels of people."""

from userturn.figures.confusion import draw_confusion
from userturn.provenance.job_record import recorded

if __name__ == "__main__":
    with recorded(snakemake):
        draw_confusion(
            identity=snakemake.params.identity,
            path_to_confusion=snakemake.input.confusion,
            path_to_rubric=snakemake.input.rubric,
            paths_to_figure=snakemake.output.confusion_figure,
        )
