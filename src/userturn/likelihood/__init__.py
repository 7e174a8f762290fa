"""The likelihood of given turns after their own context and after others.

collect.py: turns journal records into a table of scores, one row per turn and context.
contexts.py: the contexts after which a turn is scored; distractors are matched in length.
gains.py: computes from scores the gain of each turn's own context, and its identification.
reactions.py: fixed user turns after an answer, and how likely the answer makes them.
score_records.py: the journal's record of a scoring request.
scoring_plan.py: turns after contexts as scoring requests, planned and written to disk.
token_gains.py: how much a turn's own answer helped to expect each of its tokens.
"""
