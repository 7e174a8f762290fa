"""Label user turns: one user turn in, one verdict out.

ask_missing.py: looks each question up in the judge's journal, or asks it.
batch_api.py: asks through the Batch API: submits batches, waits for them, reads their replies.
batch_files.py: a batch's file of questions, and notes, by which a job finds it after a kill.
batch_output.py: what a batch has brought, or why it cannot be read for now.
check_entries.py: refuses judges that do not fit their kind, their use, or the model to be served.
decisions.py: the judge's journal: one decision per question, also under a former name.
endpoint.py: `kind: endpoint`: verdicts of a language model behind an API.
endpoint_verdicts.py: looks up a cell's verdicts in the journal and asks for the rest.
heuristic.py: `kind: heuristic`: labels English turns by their words, without a model.
judge.py: a judge of a study, the cells that it judges, and its verdicts on one as a table.
kinds.py: the interface of a kind of judge; finds the kind that an entry names.
letters.py: labels as letters: prompts in both orders, and the probability of each letter.
parse_reply.py: reads a judge's reply strictly; anything unclear is unscored.
pending_cells.py: all cells that a judge has yet to judge, in batches or by a model served here.
question.py: the prompt for a user turn, and the identity of that question.
rubric.py: the rubric that judges and people read, and the prompt that quotes it.
scored.py: `kind: scored`: verdicts by the probability of a label's letter, of a served model.
session.py: one job's questions to a judge: its endpoint, one question, its repair, one record.
verdict.py: a verdict: a label of the rubric, or the reason why there is none.
words.py: words of a text, how many of them another text holds, and whether it is English.
"""
