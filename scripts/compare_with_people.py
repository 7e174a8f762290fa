"""Measure how far judges agree with people, and correct the judges' rates by people's labels."""

from userturn.tables.make_tables import make_tables_of_job

if __name__ == "__main__":
    make_tables_of_job(snakemake)
