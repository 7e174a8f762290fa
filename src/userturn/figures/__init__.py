"""The figures of results/figures, one file each.

accuracy_and_followup.py: task accuracy and follow-up rate over model size.
confusion.py: labels by judges against labels by people.
draw.py: draws every figure that is made from the study's tables.
failure_profiles.py: share of each label among the user turns of a model.
grid_overview.py: rate, interval and troubles of every cell of the grid.
perturbation_effects.py: change of the follow-up rate under each perturbation.
rates_by_temperature.py: follow-up rate over temperature.
theme.py: what figures share: the look, rows, axes, what a mark tells, and how they are saved.
"""
