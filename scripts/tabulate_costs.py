"""Make the tables of each judge's cost, speed and injection rate."""

from userturn.tables.make_tables import make_tables_of_job

if __name__ == "__main__":
    make_tables_of_job(snakemake)
