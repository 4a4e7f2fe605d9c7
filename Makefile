# Every target makes the virtual environment it needs.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check format bench docs clean

demo: .venv/.cli
	$(BIN)/propense demo

test: .venv/.dev
	$(BIN)/pytest

check: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Speed against a floor measured in the same run, its parts, peak memory, import time, the cost of a study's record, a
# large file scored, the paper's timing on images; then the published means, the recovery of a known truth, Theorem 1.
bench: .venv/.bench
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/methods.py
	$(BIN)/python benchmarks/parts.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/wide_sparse.py
	$(BIN)/python benchmarks/import_time.py
	$(BIN)/python benchmarks/record_cost.py
	$(BIN)/python benchmarks/score_file.py
	$(BIN)/python benchmarks/images.py
	$(BIN)/python benchmarks/protocol.py
	$(BIN)/python benchmarks/recovery.py
	$(BIN)/python benchmarks/excess_risk.py

# The site, in docs/_build; a warning is an error.
docs: .venv/.docs
	$(BIN)/sphinx-build --builder html -W --keep-going --quiet docs docs/_build
	@echo docs/_build/index.html

.venv/.made:
	$(PYTHON) -m venv .venv
	touch $@

.venv/.cli: .venv/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[cli]'
	touch $@

.venv/.dev: .venv/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ .venv/.cli

.venv/.bench: .venv/.dev
	$(BIN)/python -m pip install --quiet --editable '.[dev,report]'
	touch $@

.venv/.docs: .venv/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@ .venv/.cli

clean:
	rm -rf .venv dist build docs/_build docs/gallery docs/reference/generated .mypy_cache .ruff_cache .pytest_cache .hypothesis
