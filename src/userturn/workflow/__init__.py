"""Answers the rules' questions to a study: inputs, params and resources of each job.

artifacts.py: every file that a configuration asks for, with its identity.
audit.py: for rules/audit.smk.
data.py: for rules/data.smk.
dry_run.py: what a dry run prints.
empty_logs.py: removes logs in which nothing was said.
figures.py: for rules/figures.smk.
generation.py: for rules/generation.smk.
humans.py: for rules/humans.smk.
judges.py: for rules/judges.smk.
languages.py: for rules/languages.smk: the cells of datasets in several languages.
likelihood.py: the scores that tables of likelihood are made from.
pairs.py: for rules/pairs.smk.
pending.py: the part of a grid that is missing or outdated.
recorded_study.py: the study that a results folder is of, by its record alone.
registry.py: every table and figure, and the rule that makes it.
report.py: for rules/report.smk.
rounds.py: rounds of annotation of one kind.
short_run.py: what the demo prints.
snakemake_lock.py: removes Snakemake's lock if the process that held it is gone.
startup.py: how a run begins: lock, configuration, study.
new_study.py: `userturn new`: a folder of its own for a study.
sources.py: what tables are made of, of each source.
study.py: the object that rules ask, with one part for each rules file.
study_size.py: datasets, requests and judge questions of a study, in numbers.
table_inputs.py: what the tables of each rule are made from.
tables.py: for rules/tables.smk.
training.py: for rules/training.smk.
turns.py: the cells of datasets with several turns of a conversation.
wildcards.py: unpacks the wildcards of a job.
"""
