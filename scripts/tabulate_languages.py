"""Make the tables of rates by language, and of the same problems across languages."""

from userturn.tables.make_tables import make_tables_of_job

if __name__ == "__main__":
    make_tables_of_job(snakemake)
