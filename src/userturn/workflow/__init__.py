"""Answers the rules' questions to a study: inputs, params and resources of each job.

artifacts.py: every file that a configuration asks for, with its identity.
data.py: for rules/data.smk, and tables of turns by model and dataset.
dry_run.py: what a dry run and the demo print.
generation.py: for rules/generation.smk.
humans.py: rounds of labels and of pairs, and the cells they draw from.
jobs.py: every rule with a script: what it makes from what, and by which function.
judges.py: for rules/judges.smk.
pending.py: the part of a grid that is missing or outdated.
registry.py: every table and figure, as its module declares it, and what it is made of.
run_size.py: what a run asks before it asks it.
run_job.py: calls the function of a job with what its parameters are named after.
startup.py: how a run begins: lock, configuration, study.
missing_questions.py: which judges have a decision on every question.
study.py: the object that rules ask, with one part for each rules file; that of a finished study.
study_size.py: datasets, requests and judge questions of a study, in numbers.
tables.py: the tables and figures that a study has, and their identities.
training.py: for rules/training.smk.
wildcards.py: unpacks the wildcards of a job.
job_record.py: one record per job: inputs, outputs, settings, times; how settings differ.
surroundings.py: code, machine, versions and devices of a job.
study_files.py: the files of a finished study and their records.
run_folder.py: the folder of a run (its lock, earlier outputs, names) and of a new study.
"""
