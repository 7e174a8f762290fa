"""What anybody's verdicts are worth beside people's labels, without a study and without a model.

calibrate.py: card, rates and corrected rates, by the estimators of a study's tables.
columns.py: which column of a table is which, by its name or as an option says.
judged_rows.py: verdicts and labels, each with what names its row.
labelled_rows.py: verdicts and labels as the turns, verdicts and labels of a study.
log_rows.py: the rows of logs of Inspect, lm-eval and Every Eval Ever.
verdict_rows.py: the rows of a file with verdicts, whatever its format.
"""
