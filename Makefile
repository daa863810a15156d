# Everything a newcomer needs: `make demo`, `make test`; before a commit: `make check`.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: demo test check lint docs bench clean

demo: .venv/ready
	$(BIN)/trifact data describe World
	$(BIN)/trifact train World --epochs 12 --out runs/demo-$$(date +%s)
	run=$$(ls -td runs/demo-* | head -n 1); \
	$(BIN)/trifact evaluate "$$run" && \
	$(BIN)/trifact predict "$$run" Juba "located in" -k 5 && \
	$(BIN)/trifact explain "$$run" Juba "located in" "South Sudan" -k 5 && \
	$(BIN)/trifact discover "$$run" --top 1000 --out "$$run/new-facts.tsv" && \
	$(BIN)/trifact report "$$run"

test: .venv/ready-dev
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

check: lint test

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/ready-dev
	$(BIN)/python -m scripts.make_cli_docs
	$(BIN)/python -m scripts.quality
	$(BIN)/python -m scripts.benchmarks --page
	$(BIN)/python -m scripts.results

bench: .venv/ready-dev
	$(BIN)/python benchmarks/reading.py --quick
	$(BIN)/python benchmarks/training.py --quick
	$(BIN)/python benchmarks/evaluation.py --quick
	$(BIN)/python benchmarks/answering.py --quick
	$(BIN)/python benchmarks/discovery.py --quick

# The lock says what is installed; the second file adds what only developing needs.
.venv/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

.venv/ready-dev: .venv/ready requirements-dev.lock
	$(BIN)/python -m pip install --quiet --requirement requirements-dev.lock
	touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
