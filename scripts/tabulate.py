"""Make the tables of rates and health of all cells, and of accuracy of all models."""

from userturn.tables.make_tables import make_tables_of_job

if __name__ == "__main__":
    make_tables_of_job(snakemake)
