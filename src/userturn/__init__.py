"""Measure whether a language model knows what its user says next.

disk_space.py: which disk is full, and what moves the files on it.
errors.py: errors whose message tells the user what to do, and those that stay, noted for a run.
logs.py: where output goes: all of it to a log file, progress and errors to the terminal too.
no_network.py: a guard that lets no connection out while it is up.
wording.py: numbers, kinds of values and unseen characters in words.
processes.py: signals as requests to stop, and work that is ended when it takes too long.
"""
