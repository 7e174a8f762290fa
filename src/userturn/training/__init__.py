"""Post-train a base model by a recipe.

checkpoints.py: which checkpoints of a training are whole, and the log of the last one.
curve.py: what a model does at each checkpoint after prompts that it never learns.
data.py: conversations to train on, from our own files or CollabLLM's.
draws.py: the table of what was drawn and how it was rewarded.
grpo.py: reinforcement learning with TRL's GRPO trainer.
kept_change.py: how far a training moved its base, and how much of it the swept model has.
learnt_turns.py: the rows to learn: each turn after the study's prompt for it.
reward_endpoints.py: asks the simulated user and the judge of interactivity, nothing twice.
rewards.py: accuracy, interactivity, length, and a judge's verdict on the probe.
simulated_user.py: continues a conversation after a drawn turn; an endpoint plays the user.
train.py: runs a training and writes the merged model folder.
trainer_inputs.py: one training: its inputs, and its trainer's arguments.
turn_gains.py: how much likelier a model finds a user turn after its own answer than after others.
"""
