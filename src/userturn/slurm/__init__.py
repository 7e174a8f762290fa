"""Resources of jobs on a SLURM cluster, and the check of a cluster.

doctor.py: `userturn doctor`: finds what would fail before a job waits for a GPU.
node_check.py: what a compute node sees; the doctor runs it there.
scheduler.py: what the scheduler would refuse or never start.
submission.py: what a profile adds to a job's sbatch options.
"""
