# The commands of this project; each does its whole set-up in .venv and is quick the second time.

PYTHON ?= python3
CORES ?= 2
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: help demo test lint clean

help:
	@echo "make demo    run the small offline demo and show its standings"
	@echo "make test    run the tests"
	@echo "make lint    check style, types and the workflow"
	@echo "make clean   remove results, logs and the environment"

demo: $(INSTALLED)-demo
	@echo "==> Running the demo on $(CORES) cores: simulated models, offline, about ten minutes the first time"
	@$(BIN)/snakemake --cores $(CORES)
	@echo "==> Score tables: results/scores/    Report: results/report.html (open it in a browser)"

test: $(INSTALLED)-test
	@echo "==> Running the tests"
	@$(BIN)/pytest

lint: $(INSTALLED)-dev
	@echo "==> Checking style, types and the workflow"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/snakefmt --check Snakefile rules
	@$(BIN)/snakemake --lint

clean:
	rm -rf .venv .snakemake logs build *.egg-info
	find results -mindepth 1 ! -name .gitkeep -delete

# One stamp per set of extras, renewed when the dependencies change.
$(INSTALLED)-%: pyproject.toml constraints.txt
	@test -x $(BIN)/python || { echo "==> Making the environment .venv with $$($(PYTHON) --version)"; $(PYTHON) -m venv .venv; }
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	@echo "==> Installing bert-judge and what it needs for '$*' (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet -e '.[$*]' -c constraints.txt
	@touch $@

.PRECIOUS: $(INSTALLED)-%
