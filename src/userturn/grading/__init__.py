"""Grade answers as correct, wrong or undecided: `verifier: x` is `x.py`.

code.py: `code`: programs that are run with their tests, in a sandbox.
grade.py: grades the answers to one dataset by its verifier: cases in, grades out.
ifbench.py: `ifbench`: IFBench's instructions, by the code of ifeval.
ifeval.py: `ifeval`: instruction following, strict and loose.
math.py: `math`: final answers compared as mathematics.
numbers.py: the number that a text ends in, read as its reader would.
numeric.py: `numeric`: final numbers compared.
rubric.py: `rubric`: a judge is asked about every criterion of every answer.
"""
