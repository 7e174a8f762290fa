"""A model's files, the engines that run it, and the requests sent to them.

batch.py: continues many prompts together in transformers, or one by one, and scores texts.
batch_rows.py: the requests that run together: keys, values, next tokens.
chat_completions.py: a model behind a chat API: messages in, one reply out.
completion_endpoint.py: the fields of a server's completions.
convert.py: turns GGUF files and LoRA adapters into model folders.
embedder.py: texts as vectors, by an encoder.
engine.py: the engines by name; the interface: requests in, completions out.
engine_account.py: what ran a model: runner, kernels, CUDA and driver.
engine_setup.py: a model as an engine is to load it: architecture, entry and GPUs.
fetch.py: finds a model's files and commit: hub id, folder, GGUF or package file.
machine.py: what this machine has, how a model is placed on it, about how long it writes.
model_files.py: what of a local model's files shapes tokens, and the whole hashes of the large ones.
multi_node.py: starts vLLM's workers on the other nodes of a SLURM job.
requests.py: what is asked of an engine, its key and seed, and what comes back.
scratch.py: a copy of a model on the disk of a node.
served.py: the engine of a model that somebody else serves.
server_check.py: what a server is and can promise, found out before anything else is asked.
server_models.py: which model a server has, by its own list.
server_replies.py: asks a server, and reads its reply strictly, against its request.
setup_gpus.py: what an engine would refuse of a model on its GPUs.
setup_refusals.py: what an engine would refuse of a model, before a job waits.
transformers.py: the engine `transformers`: many requests together, or one at a time.
vllm.py: the engine `vllm`, on GPUs and on a CPU, and how it scores a text.
whole_model.py: whether weights are whole; loads a model or adapter only with all of them.
"""
