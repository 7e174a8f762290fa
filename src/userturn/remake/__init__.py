"""Makes a finished study again, from its folder or archive alone.

claims.py: each main number, table and figure, with what makes it again.
make_again.py: makes tables, figures and the report again from what a study holds.
opened_files.py: the files that are opened to check a study, or to make it again.
remake.py: `userturn remake`: everything after the verdicts, in order, and which files are equal.
sweep.py: `userturn remake --sweep`: the study run again from nothing.
"""
