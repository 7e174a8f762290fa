"""Answers the rules' questions to a study: inputs, params and resources of each job.

artifacts.py: every file that a configuration asks for, with its identity.
data.py: for rules/data.smk, and tables of turns by model and dataset.
dry_run.py: what a dry run and the demo print.
data.py: for rules/data.smk and rules/training.smk, and the cells in several languages.
generation.py: for rules/generation.smk.
humans.py: rounds of labels and of pairs, and the cells they draw from.
job_record.py: one record per job: inputs, outputs, settings, times, code and machine.
jobs.py: every rule with a script: what it makes from what, and by which function.
judges.py: for rules/judges.smk: what each judge has yet to judge.
pending.py: the part of a grid that is missing or outdated.
registry.py: every table and figure, as its module declares it.
run_folder.py: the folder of a run (its lock, earlier outputs, names) and of a new study.
run_job.py: calls the function of a job with what its parameters are named after.
startup.py: how a run begins (lock, configuration, study), and what a dry run prints.
study.py: the object that rules ask, every artifact of it; that of a finished study.
study_files.py: the files of a finished study and their records; how settings differ.
study_size.py: requests and judge questions, of a study and of what a run asks, in numbers.
tables.py: the tables and figures that a study has, what they are made of, their identities.
wildcards.py: unpacks the wildcards of a job.
"""
