"""Run programs that nobody has read, where they can harm nothing.

inside.py: what runs in the sandbox: a program, then its tests, within limits.
run.py: one program in a sandbox of its own, and how it ended.
system_calls.py: the system calls that a program is refused.
"""
