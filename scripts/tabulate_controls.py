"""Count how many human turns each judge calls genuine and how many failures it catches."""

from userturn.provenance.job_record import recorded
from userturn.tables.controls import tabulate_controls

if __name__ == "__main__":
    with recorded(snakemake):
        tabulate_controls(
            paths_to_verdicts=snakemake.input.verdicts,
            identity=snakemake.params.identity,
            path_to_controls=snakemake.output.controls,
            path_to_controls_csv=snakemake.output.controls_csv,
        )
