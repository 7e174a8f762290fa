"""Put rates and health of all cells, and the accuracy of all models, into tables."""

from userturn.tables.make_tables import make_tables_of_job

if __name__ == "__main__":
    make_tables_of_job(snakemake)
