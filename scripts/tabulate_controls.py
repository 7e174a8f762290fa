"""Count how many human turns each judge calls genuine and how many failures it catches."""

from userturn.tables.material import make_tables_of_job

if __name__ == "__main__":
    make_tables_of_job(snakemake)
