"""What anybody's verdicts are worth beside people's labels, without a study and without a model.

calibrate.py: card, rates and corrected rates, by the estimators of a study's tables.
judged_rows.py: verdicts and labels, each with what names its row, by the columns of a table.
verdict_rows.py: the rows of a file with verdicts: a table, or a log of Inspect, lm-eval and others.
"""
