# Every command runs from .venv, which `make setup` makes.

PYTHON ?= python3
RUN := env PATH="$(CURDIR)/.venv/bin:$$PATH"
ENGINE := $(if $(filter Darwin,$(shell uname -s)),--config engine=transformers)  # no vLLM on a Mac

.DEFAULT_GOAL := help
.PHONY: help setup wheels demo demo-judge demo-posttrain demo-crossed test test-fast test-long test-slurm rehearsal check check-gpu docs

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

setup: ## Install everything into .venv; does nothing if it is there. LOCK=cpu, gpu or mac for another machine.
	@$(PYTHON) envs/setup.py

wheels: ## Fetch what `make setup` installs into the folder wheels, for a machine without a network.
	@$(PYTHON) envs/setup.py wheels

demo: setup ## Run the demo study on this machine, without a GPU, audit it, and print its rates.
	@$(RUN) snakemake --profile profiles/demo $(ENGINE)
	@$(RUN) userturn audit results
	@$(RUN) userturn rates results

demo-judge: setup ## Run a judge served by vLLM on this machine, and print its rates.
	$(RUN) snakemake --profile profiles/demo --configfile profiles/demo/study.yaml profiles/demo/judge.yaml
	$(RUN) userturn rates results

demo-posttrain: setup ## Train the demo's model twice on this machine, and print rates before and after.
	$(RUN) snakemake --profile profiles/demo $(ENGINE) --configfile profiles/demo/study.yaml profiles/demo/posttrain.yaml
	$(RUN) userturn rates results
	@cat results/tables/contrasts.md
	$(RUN) python -m benchmarks.trainings results

demo-crossed: setup ## Run three speakers after each other's answers on this machine, audit it, and print who spoke and who answered.
	$(RUN) snakemake --profile profiles/demo $(ENGINE) --configfile profiles/demo/study.yaml profiles/demo/crossed.yaml
	$(RUN) userturn audit results
	@cat results/tables/crossed_answers.md

test: setup ## Run all tests but the long ones and those on SLURM.
	$(RUN) pytest -n 2 --dist worksteal --durations=60

test-fast: setup ## Run the tests that start no Snakemake, browser, server or SLURM.
	$(RUN) pytest -n 2 --dist worksteal -m "not slow and not slurm and not long"

test-long: setup ## Probe many edits of a finished study, and hostile archives of one; takes half an hour and more.
	$(RUN) pytest -n 2 --dist worksteal -m "long and not slurm"

test-slurm: setup ## Start two small SLURM clusters here (Debian, as root) and test on them.
	$(RUN) pytest -n 2 --dist worksteal --durations=20 -m "slurm and not long" tests/slurm

rehearsal: setup ## Run the paper's grid on a SLURM started here, with an engine that answers at once; takes hours.
	$(RUN) python -m tests.slurm.rehearsal $(WIDTH)

check: setup ## Check formatting, rules and types.
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) snakefmt --check Snakefile rules
	$(RUN) snakemake --lint
	$(RUN) mypy src
	$(RUN) lint-imports

check-gpu: setup ## Try both engines on this machine's GPUs, and print a table of each.
	@failed=0; \
	$(RUN) python benchmarks/transformers_on_gpu.py || failed=1; \
	$(RUN) python benchmarks/vllm_on_gpu.py || failed=1; \
	exit $$failed

docs: setup ## Build the documentation site into build/site, with the study in results as its example.
	$(RUN) python docs/build.py
