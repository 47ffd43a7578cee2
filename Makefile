# prism_explore. `make` alone lists what can be made; `make explore` is the place to start.
#
# Needs python3.11 or newer and make; for `make test` also Node 20 or newer. Everything else is set up here.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The interpreter that makes .venv: the oldest supported one first, because the tried versions were tried there.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' && echo $$p && break; done)
# Extra words for the command that a target runs: make explore ARGS=--no-browser, make test ARGS="-k maps".
ARGS ?=
# Install the tried versions. On a machine with a GPU and a torch of its own: make setup CONSTRAINTS=
CONSTRAINTS ?= -c constraints.txt

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Root may install packages; others may through sudo, if it asks nothing.
AS_ROOT := $(shell if [ "$$(id -u)" = 0 ]; then echo env; elif sudo -n true 2>/dev/null; then echo sudo -n; fi)
export PYTHONUTF8 := 1

.PHONY: help setup explore test thorough fuzz crash soundness monkey lint format widgets notebooks docs bench clean browser emulator node

help: ## list these targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.test ## make .venv with everything needed to explore and to test

explore: $(VENV)/.lab ## open the first notebook in JupyterLab (ARGS=--no-browser to only serve it)
	@exec $(BIN)/python -m jupyter lab --ip=127.0.0.1 $(if $(filter 0,$(shell id -u)),--allow-root) \
		--LabApp.default_url=/lab/tree/notebooks/00_ten_minutes.ipynb $(ARGS)

# First the tests that may run side by side, two at a time, then those marked `serial`. Exit code 5 (no test found) is
# fine: ARGS may select from one phase only. Idle OpenMP threads sleep: by default they spin, and two test processes on
# two cores would slow one another down.
test: $(VENV)/.test browser emulator node ## run every test: Python, browser, TypeScript, lint, types, layers
	@OMP_WAIT_POLICY=passive $(BIN)/python -m pytest --phase parallel -n 2 --dist loadfile --no-loadscope-reorder $(ARGS) || [ $$? = 5 ]
	@$(BIN)/python -m pytest --phase serial $(ARGS) || [ $$? = 5 ]

# The numbers of cases that a test names itself stay.
thorough: $(VENV)/.test ## run the tests with random cases, with twenty times as many: about two hours
	@OMP_WAIT_POLICY=passive $(BIN)/python -m pytest -n 2 --dist loadfile -m "hypothesis or mutants" \
		--hypothesis-profile=thorough --mutants=100000 --timeout=7200 $(ARGS)

# What fails is kept in tests/fuzz/corpus/, and the tests try it from then on.
fuzz: $(VENV)/.test ## open 100,000 damaged files of every kind that the package reads (ARGS="kernel graph --seed 1")
	@$(BIN)/python -m tests.fuzz --files 100000 $(ARGS)

# A contradiction is kept in tests/soundness/corpus/. A run that was stopped goes on: make soundness ARGS="--state watch.json"
soundness: $(VENV)/.test ## cross-check random programs and twins by three judges for two hours (ARGS="--seconds 28800")
	@$(BIN)/python -m tests.soundness $(ARGS)

monkey: $(VENV)/.test browser ## click and steer at random in the explorer for eight hours (ARGS="--seconds 600 --seed 1")
	@PRISM_EXPLORE_CACHE=off $(BIN)/python -m tests.browser.monkey $(ARGS)

# Trials of one seed are the same, except for the speed of the machine.
crash: $(VENV)/.test ## kill and interrupt searches at 1,000 instants, and see what is left (ARGS="tuning --seed 1")
	@$(BIN)/python -m tests.crash --instants 1000 $(ARGS)

lint: $(VENV)/.test node ## check style, types and layers, in both languages
	@$(BIN)/python -m pytest -q tests/test_checks.py $(ARGS)

format: $(VENV)/.test node ## put both languages into their one format
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .
	@$(BIN)/nbstripout notebooks/*.ipynb
	@if [ -d widgets/node_modules ]; then npm --prefix widgets run --silent format; fi

widgets: widgets/node_modules/.stamp ## build the browser half into prism_explore/widgets/static/
	@npm --prefix widgets run --silent build

notebooks: $(VENV)/.test ## run every notebook from top to bottom
	@$(BIN)/python -m pytest -v tests/test_notebooks.py $(ARGS)

# The notebooks are run once per version of the package; a build after that takes seconds. BUILDER=linkcheck follows the
# links to other hosts, which no other target does.
BUILDER ?= html
docs: $(VENV)/.test ## build the documentation site into build/docs/html/
	@$(BIN)/python -m sphinx -W --keep-going -q -b $(BUILDER) -d build/docs/doctrees docs build/docs/$(BUILDER) $(ARGS)
	@echo "build/docs/$(BUILDER)/index.html"

bench: $(VENV)/.lab ## how long until a good kernel, and how good it is (benchmarks/)
	@$(BIN)/python benchmarks/search_time.py $(ARGS)
	@$(BIN)/python benchmarks/kernel_time.py $(ARGS)

clean: ## remove everything that these targets made, except the committed bundles
	rm -rf $(VENV) widgets/node_modules .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
	find prism_explore tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# ------------------------------------------------------------------ the Python environment

$(VENV)/bin/python:
	@if [ -z "$(PYTHON)" ]; then echo "prism_explore needs Python 3.11 or newer, and found none: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; fi
	@if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null && [ -n "$(AS_ROOT)" ] && command -v apt-get >/dev/null; then \
		package=$$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
		echo "$(PYTHON) cannot make a virtual environment yet: installing $$package"; \
		$(AS_ROOT) apt-get install -qq -y --no-install-recommends $$package >/dev/null \
			|| { $(AS_ROOT) apt-get update -qq && $(AS_ROOT) apt-get install -qq -y --no-install-recommends $$package >/dev/null; } || true; \
	fi
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo; \
		echo "$(PYTHON) cannot make a virtual environment. On Debian and Ubuntu:"; \
		echo "    sudo apt-get install $$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"; \
		echo "or name another interpreter: make PYTHON=/path/to/python $(MAKECMDGOALS)"; exit 1; } >&2

# The package is compiled to bytecode as pip does with packages that are not editable: where Python may not write bytecode
# while it runs, every process would compile the package again.
INSTALL = $(PIP) install -qq $(CONSTRAINTS)
COMPILE = $(BIN)/python -m compileall -q -j 2 prism_explore

$(VENV)/.lab: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "setting up $(VENV) (about two minutes the first time)"
	@$(INSTALL) -e '.[lab]'
	@$(COMPILE)
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "setting up $(VENV) with what tests need (about two minutes the first time)"
	@$(INSTALL) -e '.[docs,lab,test]'
	@$(COMPILE)
	@touch $(VENV)/.lab $@

# ------------------------------------------------------------------ what only tests need
# None is an error when it cannot be had: the tests that need it are skipped, and say so.

BROWSERS := chromium chromium-browser google-chrome google-chrome-stable

# Shell code that installs the packages $(1) for $(2), and ends the recipe if that works.
define apt_install
	if [ -n "$(AS_ROOT)" ] && command -v apt-get >/dev/null; then \
		echo "installing $(1) for $(2)"; \
		install="$(AS_ROOT) env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $(1)"; \
		$$install >/dev/null 2>&1 || { $(AS_ROOT) apt-get update -qq && $$install >/dev/null; } && exit 0; \
	fi
endef

browser:
	@for b in $(BROWSERS); do if command -v $$b >/dev/null; then exit 0; fi; done; \
	$(call apt_install,chromium,the browser tests); \
	echo "NOTE: no Chromium here and none could be installed: the browser tests will be skipped" >&2

emulator:
	@if command -v qemu-aarch64 >/dev/null && command -v aarch64-linux-gnu-ld >/dev/null; then exit 0; fi; \
	$(call apt_install,qemu-user binutils-aarch64-linux-gnu,the tests of kernels for Arm); \
	echo "NOTE: no qemu-aarch64 here and none could be installed: kernels for Arm will be compiled and not run" >&2

node:
	@if command -v npm >/dev/null; then \
		$(MAKE) --no-print-directory widgets/node_modules/.stamp \
		|| echo "NOTE: npm could not install widgets/node_modules: the TypeScript checks will be skipped" >&2; \
	else echo "NOTE: no npm here: the TypeScript checks will be skipped" >&2; fi

widgets/node_modules/.stamp: widgets/package.json widgets/package-lock.json
	@cd widgets && npm ci --loglevel=error
	@touch $@
