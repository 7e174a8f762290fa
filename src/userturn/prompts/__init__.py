"""From a chat template to the probe prompt.

answer_form.py: what a model writes around the text of its answer.
bounds.py: limits of time and memory around a chat template.
chat_template.py: derives prompts from a model's own chat template.
context_length.py: refuses prompts that are too long for a model's context.
control_tokens.py: control tokens of model families by their form.
examples.py: small conversations that every template is tested on.
header.py: which text is the user header, and how much of it the model is shown.
load_template.py: reads a model folder's tokenizer and chat template.
missing_answer.py: what a template writes in place of an answer that is taken away.
perturbations.py: operators on the answer, or on its context, before the probe.
render.py: what a template writes around messages, and whether it alters them.
stop_texts.py: the texts that end a turn where no token does.
stop_tokens.py: the tokens that end a turn.
template_checks.py: what must hold of a template and tokenizer before a study uses them.
tokenize.py: text to token ids, so that no message can contain a control token.
"""
