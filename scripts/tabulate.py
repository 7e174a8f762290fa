"""Put rates and health of all cells, and the accuracy of all models, into tables."""

from userturn.provenance.job_record import recorded
from userturn.tables.rates import tabulate

if __name__ == "__main__":
    with recorded(snakemake):
        tabulate(
            identity=snakemake.params.identity,
            paths_to_summaries=snakemake.input.summaries,
            paths_to_grades=snakemake.input.grades,
            path_to_rates=snakemake.output.rates,
            path_to_rates_csv=snakemake.output.rates_csv,
            path_to_accuracy=snakemake.output.accuracy,
            path_to_accuracy_csv=snakemake.output.accuracy_csv,
            path_to_health=snakemake.output.health,
            path_to_health_csv=snakemake.output.health_csv,
        )
