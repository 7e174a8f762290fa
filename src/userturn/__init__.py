"""Measure whether a language model knows what its user says next.

disk_space.py: which disk is full, and what moves the files on it.
errors.py: the one exception whose message tells the user what to do.
lasting_errors.py: errors that every attempt at a job would meet, noted for a run.
logs.py: where output goes: all of it to a log file, progress and errors to the terminal too.
no_network.py: a guard that lets no connection out while it is up.
plural.py: a number with its noun.
signals.py: SIGTERM and SIGUSR1 as a request to stop.
time_limit.py: runs work in separate processes, each piece within a time limit.
unseen.py: characters that a reader cannot see, and how a terminal shows them.
value_kinds.py: what a value from YAML, JSON or Parquet is, in words.
"""
