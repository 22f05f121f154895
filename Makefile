# make demo      score the example answers, offline           make test     all tests
# make demo-rag  three ways to search, side by side           make bench    benchmarks
# make check     ruff, mypy, pyright, import contracts

PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo demo-rag test check bench clean

help:
	@echo "make demo      score the example answers, offline"
	@echo "make demo-rag  three ways to search the example's help pages, side by side, offline"
	@echo "make test      run all tests"
	@echo "make check     ruff, mypy, pyright, import contracts"
	@echo "make bench     run the benchmarks"
	@echo "make clean     remove the environment"

demo: $(VENV)/installed
	@$(BIN)/judges run judges/example/cases.jsonl --judge overlap \
		--criterion faithfulness --criterion answer_relevance --criterion correctness --out runs/demo
	@echo
	@echo "What to try next: the lowest scores, one case, slices, and how far to trust this judge"
	@echo "  $(BIN)/judges show runs/demo --worst 10"
	@echo "  $(BIN)/judges show runs/demo --case en-10"
	@echo "  $(BIN)/judges show runs/demo --by lang"
	@echo "  $(BIN)/judges calibrate runs/demo --label gold.correctness \\"
	@echo "      --gold judges/example/labels.jsonl"

demo-rag: $(VENV)/installed
	@$(BIN)/judges experiment judges/example/rag/plan.toml --out runs/demo-rag
	@echo
	@echo "What to try next: which part is to blame, and one question through it all"
	@echo "  $(BIN)/judges diagnose runs/demo-rag/reranked"
	@echo "  $(BIN)/judges show runs/demo-rag/reranked --case en-10"

test: $(VENV)/installed-test
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

check: $(VENV)/installed-check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

bench: $(VENV)/installed-test
	$(BIN)/python benchmarks/imports.py
	$(BIN)/python benchmarks/overlap.py
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/cache.py
	$(BIN)/python benchmarks/throttle.py
	$(BIN)/python benchmarks/hosted.py --quick
	$(BIN)/python benchmarks/agreement.py
	$(BIN)/python benchmarks/gate_false_alarms.py

clean:
	rm -rf $(VENV)

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or later is needed; name one with: make demo PYTHON=python3.12"; exit 1; }
	@echo "making the environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade pip
	@touch $@

$(VENV)/installed: $(VENV)/made pyproject.toml constraints.txt
	@$(PIP) --editable .
	@touch $@

$(VENV)/installed-test: $(VENV)/installed tests/oracles/requirements.txt
	@$(PIP) --group test
	@$(PIP) --no-deps --requirement tests/oracles/requirements.txt
	@touch $@

$(VENV)/installed-check: $(VENV)/installed-test
	@$(PIP) --group check
	@touch $@
