"""Measure every judge by turns whose kind is known."""

from userturn.tables.material import make_tables_of_job

if __name__ == "__main__":
    make_tables_of_job(snakemake)
