"""From a chat template to the probe prompt.

answer_beginning.py: where an answer begins without reasoning.
answer_form.py: the wrapping and reasoning markers around a model's answer.
bounds.py: limits of time and memory for running a chat template.
chat_template.py: derives prompts from a model's own chat template.
context_length.py: refuses prompts that are too long for a model's context.
control_tokens.py: control tokens of model families by their form.
examples.py: small conversations that every template is tested on.
format_checks.py: checks that each lever of a prompt format changes a model's prompts.
given_reasoning.py: where a template reads the reasoning before an answer.
gguf_pre_tokenizer.py: the pre-tokenizer that transformers loses of a GGUF file.
header.py: derives the user header, and proves it for every conversation.
load_template.py: reads a model folder's tokenizer and chat template.
missing_answer.py: what a template writes in place of a removed answer.
own_system.py: the system prompt that a template writes itself, and how to leave it out.
perturbations.py: operators on the answer, or on its context, before the probe.
render.py: renders conversations, and checks that the template leaves messages unchanged.
role_play.py: prompts by which a model is told to play the user.
settings_read.py: which settings of a model its chat template reads.
stop_texts.py: the texts that end a turn if no token does.
stop_tokens.py: the tokens that end a turn.
template_checks.py: checks a template and tokenizer before a study uses them.
template_text.py: the text of a chat template without what shapes no prompt.
thinking_state.py: whether a model thinks before it answers, as its prompts have it.
tokenize.py: encodes text so that no message can contain a control token.
trimmed.py: finds contents whose white space a template has trimmed.
"""
