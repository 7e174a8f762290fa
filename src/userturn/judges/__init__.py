"""Label user turns: one user turn in, one verdict out.

ask_by_batch.py: everything out through the Batch API, then a wait for all of it.
ask_missing.py: looks each question up in the judge's journal, or asks it.
asked.py: what kinds that ask a model over HTTP have in common.
batch_api.py: batches of one judge and dataset: submitted, waited for, put into the journal.
batch_file.py: a file of questions, as large as the API takes.
batch_judge.py: asks about many cells through the Batch API, in batches that the cells share.
batch_notes.py: notes on each batch, so that a job finds it again after a kill.
chat_endpoint.py: a judge's endpoint for chat completions.
check_entries.py: refuses judge entries that do not fit their kind or their use.
decide.py: one question becomes one record: a usable reply, one repair, or a reason.
decisions.py: the judge's journal: one decision per question.
endpoint.py: `kind: endpoint`: verdicts of a language model behind an API.
endpoint_verdicts.py: looks up a cell's verdicts in the journal and asks for the rest.
former_names.py: decisions under a name that the study no longer has.
heuristic.py: `kind: heuristic`: labels English turns by their words, without a model.
judge.py: a judge of a study and the cells that it judges.
judge_cell.py: the verdicts of one judge on the user turns of one cell.
kinds.py: the interface of a kind of judge; finds the kind that an entry names.
language.py: whether a text is English, by its script and function words.
letter_prompt.py: prompts with a letter for each label, in both orders, as token ids.
parse_reply.py: reads a judge's reply strictly; anything unclear is unscored.
pending_cells.py: works through all cells that a judge has yet to judge, in one job.
prompt_fields.py: the two parts of a prompt, and the fields that are filled in there.
question.py: the prompt for a user turn, and the identity of that question.
reply_format.py: how a kind of judge is asked over HTTP, and how its replies are read.
rubric.py: the rubric that judges and people read: labels, rules and the paper's names for them.
scored.py: `kind: scored`: verdicts by the probability of a label's letter, of a served model.
serve.py: serves a judge's model with vLLM on loopback for the length of a job.
served_setup.py: the setup of a judge that is served here, by the rules of models.
session.py: the endpoint, journal and account that a job uses to ask a judge.
tell_apart.py: asks which of two turns a person wrote, in both orders.
verdict.py: a verdict: a label of the rubric, or the reason why there is none.
words.py: words of a text, and how many of them another text holds.
"""
