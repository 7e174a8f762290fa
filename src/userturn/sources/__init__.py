"""Where requests and judged user turns come from: one module for each kind, found by its name.

check.py: refuses a configuration that cannot be run.
job.py: what a rule with a script is.
registry.py: every source; the lists of all that is asked for and of all that judges read.
source.py: what a source declares.
"""
