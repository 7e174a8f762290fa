"""Put gains and identification of human follow-ups and own turns into tables."""

from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid
from userturn.tables.material import Material, make_tables

if __name__ == "__main__":
    with recorded(snakemake):
        make_tables(
            Material(Grid(snakemake.config), dict(snakemake.input.items())),
            identity=snakemake.params.identity,
            paths_to_tables=dict(snakemake.output.items()),
        )
