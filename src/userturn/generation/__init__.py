"""Generate answers and user turns: plan requests, send them to the engine, collect the output.

ask_engine.py: sends the engine every request that no journal has yet and journals each reply.
candidates.py: several answers of each item, and one user turn after each of them.
collect.py: turns journal records into tables of answers and user turns.
collect_self_play.py: the same for one depth of self-play, with its conversations.
describe_model.py: a model's revision, hashes, user header, stop tokens and checks.
forecast.py: what sweeps would ask, planned without a tokenizer.
load_engine.py: the engine of a model, loaded here or at a server.
loaded_model.py: a model's template, identity and engine settings, read once per sweep.
other_names.py: replies that were asked for under other names, and notes of what is asked for.
plan_files.py: plans on disk: tables with one row per request.
planner.py: turns items into the requests of a dataset's answers or of a cell.
quick_look.py: one model and one question, for `userturn try`; nothing is written.
quick_scores.py: a dataset's reference follow-ups scored with one model; nothing is kept.
reasoning.py: splits a raw answer into reasoning and what the user would see.
resume.py: whether a sweep has anything left to ask, from plans and journals alone.
score_plans.py: plans the scoring of reference follow-ups and of the model's own turns.
self_play.py: continues conversations with the model's own turns, and plans each depth.
score_self_play.py: plans the scoring of turns of self-play.
server_record.py: what a study knows of a server, and whether it is still the same one.
shards.py: which items each shard asks about, and which other answers it needs.
sweep.py: one job that loads one model once and works through its pending requests.
sweep_plan.py: writes the plans of all pending answers and cells of a model.
turn_languages.py: the languages of prompt, answer and turn, of all turns of a model and dataset.
"""
