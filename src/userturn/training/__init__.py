"""Post-train a base model by a recipe.

checkpoint.py: the last checkpoint of a training, and what it says of each step.
curve.py: what a model does at each checkpoint after prompts that it never learns.
data.py: conversations to train on, from our own files or CollabLLM's.
draws.py: the table of what was drawn and how it was rewarded.
grpo.py: reinforcement learning with TRL's GRPO trainer.
job.py: one training: inputs and trainer arguments.
kept_change.py: how far a training moved its base, and what of that is swept.
kept_replies.py: replies that were paid for, so that a killed training asks nothing twice.
learnt_turns.py: what is learnt: each turn after the prompt that it is given for.
measured.py: what a study's trainings measured, as a table.
reward_endpoints.py: asks the simulated user and the judge of interactivity.
rewards.py: accuracy, interactivity, length, and a judge's verdict on the probe.
simulated_user.py: continues a conversation after a drawn turn; an endpoint plays the user.
train.py: runs a training and writes the merged model folder.
turn_gains.py: how much likelier a model finds a user turn after its own answer than after others.
"""
