"""User turns of a known kind, on which every judge is measured.

control_turn.py: what each control is: how its text is made, its label, how hard it is.
known_turns.py: real users' turns, planted failures, labelled turns, thanks after an injection.
swapped_answers.py: user turns after another item's answer, an edited one, or one that they lacked.
"""
