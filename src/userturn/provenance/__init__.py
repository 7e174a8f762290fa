"""Record how each file was made.

job_record.py: one record per job: inputs, outputs, versions, times, machine.
settings.py: the settings that affect an artifact, by name, and how two sets differ.
study_files.py: the files of a finished study and their records.
surroundings.py: code, machine, versions and devices of a job.
"""
