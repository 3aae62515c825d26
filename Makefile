# Interlock: everything a developer runs. `make` alone lists the targets.

SHELL := /bin/sh
VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH := $(VENV)/.installed-bench

.DEFAULT_GOAL := help
.PHONY: help setup test lint demo bench docs clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Create .venv and install the package with its development tools

test: lint ## Set up, lint, and run all tests
	@echo "==> pytest"
	@$(BIN)/python -m pytest -n auto

lint: $(STAMP) ## Check style, types and import direction
	@echo "==> ruff check"
	@$(BIN)/ruff check .
	@echo "==> ruff format --check"
	@$(BIN)/ruff format --check .
	@echo "==> mypy"
	@$(BIN)/mypy
	@echo "==> pyright"
	@$(BIN)/pyright --project pyproject.toml
	@echo "==> lint-imports"
	@$(BIN)/lint-imports --no-logo --no-cache

demo: $(STAMP) ## Set up and show Interlock at work
	@$(BIN)/interlock demo

bench: $(BENCH) ## Measure against other state machine libraries
	@$(BIN)/python -m bench

docs: $(STAMP) ## Write the generated pages of docs/ anew
	@if [ -f tools/docs.py ]; then $(BIN)/python tools/docs.py; else echo "No page of docs/ is generated."; fi

clean: ## Remove .venv, caches and build results
	rm -rf $(VENV) build dist .hypothesis .*_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Python 3.11 or newer: $PYTHON if given, else python3, else the newest that has a name of its own.
$(BIN)/python:
	@for python in $${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do \
		if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			echo "==> Creating $(VENV) with $$($$python --version)"; \
			$$python -m venv $(VENV) && exit 0; \
			rm -rf $(VENV); exit 1; \
		fi; \
	done; \
	echo "Interlock needs Python 3.11 or newer; python3 is: $$(python3 --version 2>&1 || true)." >&2; \
	echo "Install one, or name it: make setup PYTHON=/path/to/python3.11" >&2; \
	exit 1

$(STAMP): pyproject.toml | $(BIN)/python
	@echo "==> Installing the package and its development tools (a minute or two the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(BENCH): $(STAMP)
	@echo "==> Installing what the benchmarks compare with"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@
