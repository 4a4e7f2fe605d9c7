# Every target makes the virtual environment it needs.
PYTHON ?= python3
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := .venv/$(SCRIPTS)

.PHONY: demo test fast test-torch fuzz floors standards check format bench docs walk dist clean

demo: .venv/.cli
	$(BIN)/propense demo

test: .venv/.dev
	$(BIN)/pytest -n auto --dist worksteal

# While editing: what is not marked slow, in less than 45 seconds on two cores.
fast: .venv/.dev
	$(BIN)/pytest -n auto --dist worksteal -m "not slow"

# The tests on tensors, in an environment of its own: nothing else needs torch. On Linux, the torch of the usual index
# brings gigabytes of CUDA: TORCH_INDEX may name the index of builds without it, which PyTorch's install page shows.
# Triton interprets its kernels where there is no device.
test-torch: .venv-torch/.made
	.venv-torch/$(SCRIPTS)/pytest -n auto --dist worksteal -m torch

# Damaged tables, workbooks, JSON lines, model files, audits, plans, ledgers and uploads, so many of each. The files of a
# case that fails stay in FOLDER, and KIND, SEED and NUMBER try that case again.
TABLES ?= 1000
WORKBOOKS ?= 500
LINES ?= 500
MODELS ?= 10000
AUDITS ?= 300
PLANS ?= 300
LEDGERS ?= 300
UPLOADS ?= 1000
SEED ?= 0
FOLDER ?= fuzz-failures
fuzz: .venv/.dev
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m fuzz --seed $(SEED) --folder $(FOLDER) \
	  $(if $(NUMBER),--kind $(KIND) --number $(NUMBER),--tables $(TABLES) --workbooks $(WORKBOOKS) --lines $(LINES) --models $(MODELS) --audits $(AUDITS) --plans $(PLANS) --ledgers $(LEDGERS) --uploads $(UPLOADS))

# The lowest release of everything that pyproject.toml names. PYTHON should be the lowest too: old releases have no
# wheels for a new Python. Without torch, whose lowest release brings gigabytes of CUDA; its tests are skipped.
floors: .venv-floors/.made
	.venv-floors/$(SCRIPTS)/pytest -n auto --dist worksteal

# With other tools: mlflow, optuna, SHAP, ONNX … in an environment of their own, since they bring a hundred packages.
standards: .venv-standards/.made
	.venv-standards/$(SCRIPTS)/pytest tests/standards
	.venv-standards/$(SCRIPTS)/pytest -W default tests/docs/test_docs.py -k other_tools

check: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Every benchmark, one after the other, and the page of the run. A run that was stopped goes on where it was; AGAIN=1
# measures all of them anew.
bench: .venv/.bench
	$(BIN)/python benchmarks/run_all.py $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/run_all.py --page

# The site, in docs/_build; a warning is an error. One thread: the fits of its figures are small, and five times as slow
# where threads wait for each other.
docs: .venv/.docs
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build --builder html -W --keep-going --quiet docs docs/_build
	@echo docs/_build/index.html

# Through every page of the built site in Chromium, which must be on the machine: status 3 says that it is not.
walk: .venv/.docs
	$(BIN)/python docs/walk.py

# What a user installs: a wheel and a source archive, checked, the demo run from each in a new environment, and the quick
# tests from the unpacked archive.
dist: .venv/.dev
	rm -rf dist
	$(BIN)/python -m pip install --quiet build twine
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	for each in dist/*; do \
	  $(PYTHON) -m venv --clear .venv/trial && .venv/trial/$(SCRIPTS)/python -m pip install --quiet "$$each[cli]" \
	    && (cd .venv/trial && $(SCRIPTS)/propense demo) || exit 1; \
	done
	rm -rf .venv/archive && mkdir .venv/archive && tar -xzf dist/*.tar.gz -C .venv/archive --strip-components 1
	cd .venv/archive && PYTHONPATH=src ../$(SCRIPTS)/pytest -n auto --dist worksteal -m "not slow"

.venv-floors/.made: pyproject.toml
	$(PYTHON) -m venv --clear .venv-floors
	.venv-floors/$(SCRIPTS)/python -m pip install --quiet uv
	.venv-floors/$(SCRIPTS)/uv pip install --quiet --python .venv-floors --resolution lowest-direct --editable '.[dev]'
	touch $@

.venv-torch/.made: pyproject.toml
	$(PYTHON) -m venv --clear .venv-torch
	.venv-torch/$(SCRIPTS)/python -m pip install --quiet $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch==2.13.0
	.venv-torch/$(SCRIPTS)/python -m pip install --quiet --editable '.[dev]' 'triton; sys_platform == "linux"'
	touch $@

.venv-standards/.made: pyproject.toml
	$(PYTHON) -m venv --clear .venv-standards
	.venv-standards/$(SCRIPTS)/python -m pip install --quiet --editable '.[standards]'
	touch $@

.venv/.made:
	$(PYTHON) -m venv .venv
	touch $@

.venv/.cli: .venv/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[cli]'
	touch $@

.venv/.dev: .venv/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ .venv/.cli

# The other packages are installed where they can be without changing what is there; one that cannot is left out.
.venv/.bench: .venv/.dev benchmarks/peers.txt
	$(BIN)/python -m pip install --quiet --editable '.[dev,report]'
	$(BIN)/python -m pip freeze --exclude-editable > .venv/versions.txt
	while read -r peer; do \
	  $(BIN)/python -m pip install --quiet --constraint .venv/versions.txt "$$peer" || echo "$$peer is left out"; \
	done < benchmarks/peers.txt
	touch $@

.venv/.docs: .venv/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@ .venv/.cli

clean:
	rm -rf .venv .venv-floors .venv-standards .venv-torch .bench dist build docs/_build docs/_figures docs/gallery docs/reference/generated .mypy_cache .ruff_cache .pytest_cache .hypothesis fuzz-failures
