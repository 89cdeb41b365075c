# Two commands do everything on a fresh machine with Python 3.11+ and a C++ compiler: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

export PYTHON VENV

.PHONY: demo setup test test-full test-gpu lint bench clean

$(VENV)/.runtime: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: pyproject.toml .ci/python-packages
	.ci/python-packages
	touch $@ $(VENV)/.runtime

## A whole selective search on this machine's CPU: no GPU, no key.
demo: $(VENV)/.runtime
	$(BIN)/foretell search softmax --profile quick --no-catalogue

## What the tests need: Python packages, and Chromium if this user may install it.
setup: $(VENV)/.dev
	.ci/system-packages

## Lint, types and tests, of which those over all tasks take one task per family.
test: setup
	.ci/tests quick

## The tests that `make test` leaves out: every task, every template.
test-full: setup
	.ci/tests full

## What only a GPU can show, with the machine's own torch and Triton (and pytest): nothing is installed.
test-gpu:
	PYTHONPATH=src $(PYTHON) -m pytest -m gpu tests/kernels/bench/gpu/test_on_gpu.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

## The figures that the docs quote (about an hour on 2 quiet cores).
bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.overhead
	$(BIN)/python -m benchmarks.retest
	$(BIN)/python -m benchmarks.cpu_policies
	$(BIN)/python -m benchmarks.forecaster_choice

clean:
	rm -rf $(VENV) runs build dist
