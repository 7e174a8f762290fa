"""Post-train a base model by a recipe.

checkpoint.py: the last checkpoint of a training, and what it says of each step.
data.py: conversations to train on, from our own files or CollabLLM's.
grpo.py: reinforcement learning with TRL's GRPO trainer.
job.py: one training: inputs and trainer arguments.
kept_change.py: how far a training moved its base, and what of that is swept.
rewards.py: accuracy, interactivity, length, and a judge's verdict on the probe.
simulated_user.py: continues a conversation after a drawn turn; an endpoint plays the user.
train.py: runs a training and writes the merged model folder.
"""
