"""The commands of `userturn`; audit, doctor and export are packages of their own.

compare.py: `userturn compare`: two studies side by side, item by item.
main.py: the argument parser, and which function answers each command.
plan.py: `userturn plan`: requests, prompts and estimated cost before a run.
rates.py: `userturn rates`: rates, controls and judges of a finished study.
rejudge.py: `userturn rejudge`: has a judge asked again about what it left unscored.
status.py: `userturn status`: progress of a running study.
why.py: `userturn why`: how a file was made and whether it would be made again.
"""
