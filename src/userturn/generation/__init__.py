"""Generate answers and user turns: plan requests, send them to the engine, collect the output.

ask_engine.py: sends the engine every request that no journal has yet and journals each reply.
collect.py: turns journal records into tables of answers and user turns.
describe_model.py: a model's revision, hashes, user header, stop tokens and checks.
forecast.py: what sweeps would ask, planned without a tokenizer.
load_model.py: the engine of a model, loaded here or on a server that somebody else runs.
other_names.py: replies that were asked for under other names, and notes of what is asked for.
plan_files.py: plans on disk: a table with one row per request for each shard of a model's items.
planner.py: turns items into the requests of a dataset's answers or of a cell.
quick_look.py: one model without a study, for `userturn try` and `userturn likelihood`.
reasoning.py: splits a raw answer into reasoning and what the user would see.
scored_turns.py: reads back what a model wrote, to go on with it and to score it.
scorer.py: turns a turn and the contexts after which it is scored into requests.
scores.py: turns journal records into a table of scores, and scores into gains and signals.
self_play.py: collects a depth of self-play, and chooses the turns of all depths to score.
server_records.py: what each shard's sweep found a server to be; another model there is refused.
sweep.py: one job that loads one model once and works through its pending requests.
sweep_plan.py: writes the plans of everything that a model is still to be asked.
turn_languages.py: the languages of the prompt, answer and text of each user turn.
"""
