"""Put what every judge cost, and what is known of each, into tables."""

from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid
from userturn.tables.costs import tabulate_costs

if __name__ == "__main__":
    with recorded(snakemake):
        tabulate_costs(
            prices=snakemake.params.prices,
            identity=snakemake.params.identity,
            path_to_rates=snakemake.input.rates,
            path_to_controls=snakemake.input.controls,
            folder_of_accounts=Grid(snakemake.config).accounts_folder,
            path_to_costs=snakemake.output.costs,
            path_to_judges=snakemake.output.judges,
            path_to_judges_csv=snakemake.output.judges_csv,
        )
