"""Test the claims that something is small, unchanged or kept against the config's margins."""

from userturn.tables.make_tables import make_tables_of_job

if __name__ == "__main__":
    make_tables_of_job(snakemake)
