"""Where requests and judged user turns come from: one module for each kind, found by its name.

drawn_turns.py: turns drawn from those of the cells, to be judged beside another answer.
injected_conversations.py: conversations with an injection, for every judge to read.
job.py: what a rule with a script is.
registry.py: every source; the lists of all that is asked for and of all that judges read.
source.py: what a source declares.
"""
