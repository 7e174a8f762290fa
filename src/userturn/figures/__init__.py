"""The figures of results/figures, one file each.

accuracy_and_followup.py: task accuracy and follow-up rate over model size.
answer_signals.py: which signal tells the right answers of an item, and what it gains.
confusion.py: labels by judges against labels by people.
draw.py: draws every figure but `confusion`.
failure_profiles.py: share of each label among the user turns of a model.
grid_overview.py: rate, interval and troubles of every cell of the grid.
human_likeness.py: how often people take a model's turn for a person's.
judge_card.py: how accurate a judge is, by the source of the turns.
likelihood_and_followup.py: follow-up rate beside how a model scores a dataset's follow-ups.
perturbation_effects.py: change of the follow-up rate under each perturbation.
rates_by_language.py: follow-ups, right answers and changes of language, by language.
rates_by_temperature.py: follow-up rate over temperature.
rates_by_turn.py: follow-up rate after each user turn of real conversations.
self_play.py: what becomes of conversations that a model continues with itself.
theme.py: what figures share: the look, rows, axes, what a mark tells, and how they are saved.
turn_properties.py: copies, endings and variety of turns, beside those of people.
"""
