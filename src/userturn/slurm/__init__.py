"""Jobs on a SLURM cluster: what is submitted when, and the check of a cluster.

accounting.py: every run of every job, as sacct has it, and when it last wrote a result.
doctor.py: `userturn doctor`: finds what would fail before a job waits for a GPU.
driver.py: what a job of a run passes before it is submitted, and when it has failed.
limits.py: what accounts and QOS allow at most.
mistakes.py: what is said of settings before a first job: lost names, and refused jobs.
node_check.py: what a compute node sees; the doctor runs it there.
nodes.py: the kinds of nodes, and what a job asks that none of them has.
queue.py: the jobs that wait or run, as squeue tells them.
scheduler.py: what the scheduler would refuse or never start.
submission.py: what a profile adds to a job's sbatch options.
"""
