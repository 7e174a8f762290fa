"""User turns of a known kind, on which every judge is measured.

control_turn.py: a control turn as a row, and each control's label and difficulty.
failures.py: texts of planted failures and prompt injections.
labelled_turns.py: turns that are known: real users', labelled ones, thanks after an injection.
planted.py: planted failures after a model's own answers.
swapped_answers.py: user turns after another answer than theirs: another item's, or an edited one.
"""
