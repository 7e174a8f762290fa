"""Write the page of headline, figures and tables, and the explorer's data."""

from userturn.provenance.job_record import recorded
from userturn.report.build import build_report
from userturn.study.grid import Grid

if __name__ == "__main__":
    with recorded(snakemake):
        build_report(
            grid=Grid(snakemake.config),
            judge=snakemake.params.judge,
            path_to_rubric=snakemake.input.rubric,
            paths_to_descriptions=snakemake.input.descriptions,
            paths_to_tables=snakemake.input.tables,
            paths_to_figures=snakemake.input.figures,
            paths_to_captions=snakemake.input.captions,
            paths_to_annotations=snakemake.input.annotations,
            paths_to_scores=snakemake.input.scores,
            path_to_report=snakemake.output.report,
            folder_of_data=snakemake.output.data,
        )
