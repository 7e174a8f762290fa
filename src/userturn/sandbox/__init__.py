"""Run programs that nobody has read, and read studies of strangers, where they can harm nothing.

confined.py: a command of this package that opens named files alone, without a network.
inside.py: what runs in the sandbox: a program, then its tests, within limits.
run.py: one program in a sandbox of its own, and how it ended.
"""
