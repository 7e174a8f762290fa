"""Make the table of self-play over depth."""

from userturn.tables.make_tables import make_tables_of_job

if __name__ == "__main__":
    make_tables_of_job(snakemake)
