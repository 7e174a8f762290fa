"""Grade answers as right, wrong or undecided.

grade.py: what a verifier receives and returns; grades the answers to one dataset.
ifeval.py: `ifeval` and `ifbench`: instruction following, strict and loose.
math_answers.py: `numeric` and `math`: final answers of mathematics problems.
rubric.py: `rubric`: a judge is asked about every criterion of every answer.
rubric_prompt.py: prompt, reply and score of HealthBench rubrics.
verifiers.py: the verifiers by name.
"""
