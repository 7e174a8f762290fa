"""Compare, pool and correlate: every table that is made from all verdicts and grades."""

from userturn.tables.make_tables import make_tables_of_job

if __name__ == "__main__":
    make_tables_of_job(snakemake)
