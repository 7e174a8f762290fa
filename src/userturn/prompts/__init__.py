"""From a chat template to the probe prompt.

answer_layout.py: the wrapping and reasoning markers around a model's answer.
bounds.py: limits of time and memory for running a chat template.
chat_template.py: derives prompts from a model's own chat template, for raw probes and role-play.
examples.py: small conversations that every template is tested on.
given_messages.py: how a template is given system messages and reasoning.
header.py: derives the user header, and proves it for every conversation.
load_template.py: reads a model folder's tokenizer and chat template.
perturbations.py: operators on the answer, or on its context, before the probe.
reasoning.py: whether an answer's prompt opens reasoning, and where the answer begins.
render.py: renders conversations, and checks that the template leaves messages unchanged.
template_checks.py: checks a template, a tokenizer and each format before a study uses them.
template_text.py: the text of a chat template: its normal form, and which settings it reads.
tokenize.py: encodes text so that no message can contain a control token; the forms of such tokens.
turn_ends.py: the tokens and texts that end a turn.
"""
