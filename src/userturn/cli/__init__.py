"""The commands of `userturn`: `userturn x` is `x.py`.

accept.py: `userturn accept`: claims tried on another GPU, judge, hub or cluster.
arguments.py: arguments that several commands take, and the paths that a sandboxed one opens.
audit.py: `userturn audit`: checks every artifact of a study.
busy_line.py: what a terminal shows while a command is at work, and where an engine's words go.
calibrate.py: `userturn calibrate`: anybody's judge beside people's labels, without a study.
compare.py: `userturn compare`: studies side by side, item by item.
completion.py: `userturn completion`: what a shell needs to complete commands.
costs.py: `userturn costs`: what judges and models cost so far, and corrections of it.
doctor.py: `userturn doctor`: finds what would fail on a cluster.
export.py: `userturn export`: packs a finished study into one archive, or in other formats.
jobs.py: `userturn jobs`: every run of every SLURM job, and the GPU hours that were lost.
judge_card.py: `userturn judge-card`: a judge on labelled turns, which may cost money.
likelihood.py: `userturn likelihood`: scores reference follow-ups with one model.
main.py: the argument parser, which finds each command's module, and says what is wrong.
new.py: `userturn new`: a folder of its own for a study.
plan.py: `userturn plan`: requests, prompts and estimated cost before a run.
plan_output.py: the tables of `userturn plan`.
power.py: `userturn power`: items, samples, labels, models or follow-ups that a study needs.
preregister.py: `userturn preregister`: predictions before the run, compared after it.
rates.py: `userturn rates`: rates, controls and judges of a finished study.
rates_output.py: the tables of `userturn rates`.
rejudge.py: `userturn rejudge`: asks a judge again about unscored turns.
remake.py: `userturn remake`: makes a finished study again from its folder or archive.
run.py: `userturn run`: a first result for a model of one's own.
status.py: `userturn status`: progress of a running study.
tell_apart.py: `userturn tell-apart`: can a judge tell turns from those that people wrote?
terminal.py: what commands print: tables by the width, intervals drawn, numbers as JSON.
try.py: `userturn try`: one question to a model, and the user turns that it writes then.
why.py: `userturn why`: how a file was made and whether it would be made again.
"""
