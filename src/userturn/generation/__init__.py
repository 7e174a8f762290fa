"""Generate answers and user turns: plan requests, send them to the engine, collect the output.

ask_engine.py: sends the engine every request that no journal has yet and journals each reply.
collect.py: turns journal records into tables of answers and user turns.
describe_model.py: a model's revision, hashes, user header, stop tokens and checks.
forecast.py: what sweeps would ask, planned without a tokenizer.
load_engine.py: the engine of a model, loaded here or at a server.
other_names.py: replies that were asked for under other names, and notes of what is asked for.
plan_files.py: plans on disk: tables with one row per request.
planner.py: turns items into the requests of a dataset's answers or of a cell.
quick_look.py: one model and one question, for `userturn try`; nothing is written.
reasoning.py: splits a raw answer into reasoning and what the user would see.
scored_turns.py: which follow-ups, own turns and candidates are scored, and after what.
self_play.py: collects a depth of self-play, and chooses the turns of it that are scored.
server_record.py: what a study knows of a server, and whether it is still the same one.
shards.py: which items each shard asks about, and which other answers it needs.
sweep.py: one job that loads one model once and works through its pending requests.
sweep_plan.py: writes the plans of everything that a model is still to be asked.
turn_languages.py: the languages of prompt, answer and turn, of all turns of a model and dataset.
likelihood_contexts.py: the contexts after which a turn is scored, matched in length.
likelihood_gains.py: the gain of each turn's own context, and its identification.
collect_scores.py: turns journal records into a table of scores, one row per turn and context.
scoring_plan.py: turns after contexts as scoring requests, planned and written to disk.
"""
