"""User turns of a known kind, on which every judge is measured.

edited_answers.py: user turns after answers without what they take up from them.
hard_failures.py: planted failures that use the answer's own words.
harder_failures.py: planted failures that have a conversation's topic, numbers or words.
human_turns.py: real user turns of a dataset, each after the answer that it replies to.
injected_conversations.py: injections in the conversation before an answer.
injections.py: planted prompt injections: turns that tell a judge to say "genuine".
labelled_turns.py: the project's own labelled turns, on which every judge is measured.
planted.py: planted failures after a model's own answers.
swapped_answers.py: user turns after another item's answer, for the chance floor.
control_turn.py: a control turn as a row, and each control's label and difficulty.
"""
