"""The likelihood of turns that were really said, after their own context and after others.

collect.py: from the journal to a table of scores, one row for each turn and context.
contexts.py: the contexts that a human follow-up is scored after; distractors matched in length.
gains.py: from scores to what each turn's own context is worth: gains and identification.
score_records.py: what the journal keeps of a scoring request.
scoring_plan.py: turns after contexts as scoring requests, planned and written to disk.
turn_tokens.py: token ids of a turn after a context.
"""
