"""Answers the rules' questions to a study: inputs, params and resources of each job.

artifacts.py: every file that a configuration asks for, with its identity.
audit.py: for rules/audit.smk.
data.py: for rules/data.smk.
declarations.py: what the modules of tables and figures declare, read without importing them.
dry_run.py: what a dry run prints.
empty_logs.py: removes logs in which nothing was said.
figures.py: the figures that a study has.
generation.py: for rules/generation.smk.
humans.py: rounds of labels, and the cells they draw from.
jobs.py: every rule with a script: what it makes from what, and by which function.
judges.py: for rules/judges.smk.
kept_outputs.py: keeps what a job made before, in case that it fails this time.
languages.py: the cells of datasets in several languages.
pairs.py: rounds of pairs.
pending.py: the part of a grid that is missing or outdated.
recorded_study.py: the study that a results folder is of, by its record alone.
registry.py: every table and figure, as its module declares it.
report.py: the identity of the report.
run_size.py: what a run asks before it asks it.
rounds.py: rounds of annotation of one kind.
run_job.py: calls the function of a job with what its parameters are named after.
shadowing.py: files of a study's folder that have the name of a library.
short_run.py: what the demo prints.
snakemake_lock.py: removes Snakemake's lock if the process that held it is gone.
startup.py: how a run begins: lock, configuration, study.
missing_questions.py: which judges have a decision on every question.
new_study.py: `userturn new`: a folder of its own for a study.
study.py: the object that rules ask, with one part for each rules file.
study_size.py: datasets, requests and judge questions of a study, in numbers.
table_inputs.py: what tables and figures are made of, by the names of their declarations.
tables.py: the tables that a study has, and their identities.
training.py: for rules/training.smk.
turns.py: the cells of datasets with several turns of a conversation.
wildcards.py: unpacks the wildcards of a job.
job_record.py: one record per job: inputs, outputs, versions, times, machine.
settings.py: the settings that affect an artifact, by name, and how two sets differ.
study_files.py: the files of a finished study and their records.
surroundings.py: code, machine, versions and devices of a job.
"""
