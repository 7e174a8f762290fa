"""Where requests and judged user turns come from: one module for each kind, found by its name.

controls.py: real user turns, planted failures, and the project's own conversations.
drawn_turns.py: turns drawn from those of the cells, to be judged beside another answer.
registry.py: every source; the lists of all that is asked for and of all that judges read.
source.py: what a source declares, and what a rule's job is.
"""
