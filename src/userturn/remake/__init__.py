"""Makes a finished study again, from its folder or archive alone.

make_again.py: makes tables, figures and the report again from what a study holds.
remake.py: `userturn remake`: everything after the verdicts, in order, and which files are equal.
sweep.py: `userturn remake --sweep`: the study run again from nothing.
"""
