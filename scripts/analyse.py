"""Compare, pool and correlate: every table that is made from all verdicts and grades."""

from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid
from userturn.tables.analyse import analyse

if __name__ == "__main__":
    with recorded(snakemake):
        analyse(
            grid=Grid(snakemake.config),
            identity=snakemake.params.identity,
            paths_to_verdicts=snakemake.input.verdicts,
            paths_to_grades=snakemake.input.grades,
            paths_to_tables=dict(snakemake.output.items()),
        )
