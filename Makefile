# Every target sets up what it needs on a fresh machine: a virtual environment in .venv and, for tests, Chromium.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
DEMO ?= demo-site
SHOTS ?= screenshots
EXAMPLE ?= build/example

.PHONY: help setup browser demo test lint unit stress bench screenshots example example-dump example-site clean

help:
	@echo "make demo         set up, and build the example report into $(DEMO)/"
	@echo "make test         set up, lint, type-check and run all tests"
	@echo "make stress       the tests with full counts (kills, random sequences)"
	@echo "make example      record a real small run (torch, ray; about ten minutes on two cores) and build its report"
	@echo "make bench        figures against their budgets"
	@echo "make screenshots  every page of the example, wide and narrow, light and dark"

$(VENV)/.core: pyproject.toml hatch_build.py package.json
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

# torch comes first and by its exact version, so that pip picks the small CPU build where one is at hand.
$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

setup: $(VENV)/.dev

# nginx is one of the hosts that the browser tests serve a report from.
browser:
	@missing=; \
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || missing="chromium"; \
	command -v nginx >/dev/null || missing="$$missing nginx-light"; \
	if [ -n "$$missing" ]; then \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	  elif [ "$${missing#chromium}" != "$$missing" ]; then \
	    echo "The browser tests need Chromium on the PATH: install it (Debian: apt-get install chromium) and run make again." >&2; exit 1; \
	  fi; \
	fi

demo: $(VENV)/.core
	$(BIN)/miles-report demo -o $(DEMO)
	@echo "Look at it:  $(BIN)/miles-report preview $(DEMO)"

assets: $(VENV)/.dev
	$(BIN)/python hatch_build.py

lint: assets
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python hatch_build.py --check-types

unit: setup
	$(BIN)/python -m pytest -q -m "not browser and not slow and not stress"

test: lint browser
	$(BIN)/python hatch_build.py --test-js
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup -m "not stress"

stress: assets browser
	$(BIN)/python -m pytest -q -n $(WORKERS) -m stress

bench: assets
	PYTHONPATH=tests $(BIN)/python tests/benchmarks/bench_build.py
	PYTHONPATH=tests $(BIN)/python tests/benchmarks/bench_telemetry.py
	PYTHONPATH=tests $(BIN)/python tests/benchmarks/bench_collector.py
	PYTHONPATH=tests $(BIN)/python tests/benchmarks/bench_faulttol.py

screenshots: assets browser
	PYTHONPATH=tests $(BIN)/python tests/browser/screenshots.py $(SHOTS)

$(VENV)/.example: $(VENV)/.core
	$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable '.[example,collector]'
	touch $@

example: $(VENV)/.example
	rm -rf $(EXAMPLE)
	$(BIN)/python -m site_example.record -o $(EXAMPLE)/dump
	$(BIN)/miles-report build $(EXAMPLE)/dump -o $(EXAMPLE)/site
	@echo "Look at it:  $(BIN)/miles-report preview $(EXAMPLE)/site"

# What is committed: a trimmed recording, its archive for the demo, and its pages.
example-dump: $(VENV)/.example
	$(BIN)/python -m site_example.trim $(EXAMPLE)/dump site_example/dump --archive miles_report/_demo/example.tar.xz

example-site: assets
	$(BIN)/python -m site_example.publish site_example/dump site_example/site

clean:
	rm -rf $(VENV) node_modules miles_report/_assets $(DEMO) $(SHOTS) build dist *.egg-info
