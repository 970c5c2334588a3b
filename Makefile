# Two commands do everything on a fresh machine: `make fixtures` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help fixtures test test-gpu check-bytes matrix numbers conformance lint types peers clean release conformance-check mutants confusion plots

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 19

$(BIN)/.core: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("refimpl needs Python 3.11 or newer; name one: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.txt
	$(PIP) --no-deps --editable .
	@touch $@

$(BIN)/.lint: $(BIN)/.core requirements-lint.txt
	$(PIP) -r requirements-lint.txt
	@touch $@

$(BIN)/.peers: $(BIN)/.core requirements-peers.txt
	$(PIP) -r requirements-peers.txt
	@touch $@

fixtures: $(BIN)/.core  ## build the fixtures into fixtures/, verify them, print a summary
	$(BIN)/refimpl build --out fixtures
	$(BIN)/refimpl verify fixtures

release: fixtures  ## write the fixtures as a reproducible archive, with its digest, into dist/
	$(BIN)/python -m refimpl.fixtures.release fixtures dist

plots: $(BIN)/.core  ## draw the figures into plots/out/, with pages that show them
	$(BIN)/refimpl plot --out plots/out
	$(BIN)/python -m plots.readme

test: $(BIN)/.core  ## run the tests
	$(BIN)/python -m pytest -n auto

test-gpu: $(BIN)/.core  ## run the CuPy part of the tests alone (needs a CUDA GPU and CuPy)
	$(BIN)/python -m pytest -m gpu tests/test_backends.py

check-bytes: $(BIN)/.core  ## rebuild every fixture and compare its bytes with the recorded digests
	$(BIN)/refimpl build --check

matrix: $(BIN)/.core  ## rebuild a case of every op under each Python found, with the oldest and the newest packages
	$(BIN)/python -m tests.fixtures.matrix

numbers: $(BIN)/.core  ## the figures of the pack beside their targets
	$(BIN)/python -m benchmarks.pack

mutants: $(BIN)/.core  ## change the op sources one node at a time: does the pack notice? (ARGS="--op rope", ARGS=--help)
	$(BIN)/python -m tests.mutants $(ARGS)

confusion: $(BIN)/.core  ## run every known mistake as an implementation: how often is it called by its name? (slow)
	test -d fixtures || $(BIN)/refimpl build --out fixtures
	$(BIN)/python -W ignore -m tests.check.confusion fixtures

peers: $(BIN)/.peers  ## install the frameworks to compare with

conformance: $(BIN)/.peers  ## check the frameworks against the fixtures, write CONFORMANCE.md
	$(BIN)/python -m conformance

conformance-check: $(BIN)/.peers  ## the quick ones, but fail where a verdict is not that of CONFORMANCE.md; then the tests beside it
	$(BIN)/python -m conformance --check --quick
	$(BIN)/python -m pytest -n auto conformance

lint: $(BIN)/.lint  ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(BIN)/.lint  ## mypy
	$(BIN)/mypy

clean:  ## remove the environment and what was built
	rm -rf $(VENV) fixtures plots/out build dist .pytest_cache .mypy_cache .ruff_cache
