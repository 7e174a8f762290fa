"""A model's files, the engines that run it, and the requests sent to them.

aligned_texts.py: several texts as one input, aligned at their ends.
architecture.py: what a model's config.json says of its architecture, in one set of names.
batch.py: continues many prompts together, or one by one, in transformers.
chat_completions.py: a model behind a chat API: messages in, one reply out.
completion.py: what an engine returns for one request.
completion_endpoint.py: the fields of a server's completions.
convert.py: turns GGUF files and LoRA adapters into model folders.
engine.py: the engines by name; the interface: requests in, completions out.
engine_account.py: what ran a model: runner, kernels, CUDA and driver.
engine_settings.py: settings of a model's engine, such as its tensor parallel size.
engine_setup.py: a model as an engine is to load it: files, entry and GPUs.
fetch.py: finds a model's files: hub id, folder, GGUF or package file.
gpu_check.py: what this machine's GPUs do with the shipped settings, as a table.
gpu_runs.py: one run of that check.
grouped_attention.py: attention of heads that share keys and values, without copies.
known_to_engines.py: the classes, quantisations and settings that the installed engines know.
model_files.py: what of a local model's files shapes tokens.
multi_node.py: starts vLLM's workers on the other nodes of a SLURM job.
quantised_blocks.py: blocks of quantised weights that GPUs would cut through.
requests.py: a request: prompt, sampling settings and seed, identified by its content.
revision.py: the commit that a model is pinned to.
row_cache.py: keys and values of the requests that run together.
sampling.py: temperature and the other sampling settings of one request.
scoring.py: a scoring request and its key.
seeds.py: the seed of one request.
served.py: the engine of a model that somebody else serves.
server_check.py: what a server is and can promise, found out before anything else is asked.
server_replies.py: reads a server's reply strictly, against its request.
setup_gpus.py: what vLLM would refuse of a model on its GPUs.
setup_refusals.py: what an engine would refuse of a model, before a job waits.
stop_texts.py: finds the texts that end a continuation.
token_sampling.py: draws the next token of several requests.
transformers.py: the engine `transformers`: many requests together, or one at a time.
transformers_scoring.py: how transformers scores texts, several in one pass.
vllm.py: the engine `vllm`, on GPUs and on a CPU.
vllm_scoring.py: how vLLM scores a text, sharing prefixes.
weight_files.py: whether weights are whole, from their headers.
weights.py: the whole hashes of a local model's large files.
whole_model.py: loads a model or adapter into transformers, only with all of its weights.
"""
