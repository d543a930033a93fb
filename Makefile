# Two commands on a fresh machine: `make demo` and `make test`. Each sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# The CPU build of torch is installed first, so that nothing that depends on torch fetches another one.
TORCH ?= torch==2.13.0
# Trainers that need GPUs. Their modules that write metrics do not, and are all that is imported of them.
TRACKERS ?= verl==0.9.1 openrlhf==0.11.2 areal==1.0.4

.PHONY: help setup setup-test demo test lint golden report-card bench-statistics docs coverage bench bench-readers bench-experiments bench-guard bench-preflight bench-web site fuzz

help:            ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 18

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/.test: $(VENV)/.core
	$(PIP) "$(TORCH)"
	$(PIP) -e ".[test,trainers,loggers,cluster,check,eval,guard,web,mcp,docs,dev]"
	-$(PIP) --no-deps --upgrade --target $(VENV)/trackers $(TRACKERS)
	touch $@

setup: $(VENV)/.core
setup-test: $(VENV)/.test

demo: $(VENV)/.core          ## a real broken run, diagnosed
	$(BIN)/firstbreak demo

test: $(VENV)/.test          ## every test
	$(BIN)/python -m pytest -n auto --dist loadfile $(ARGS)

lint: $(VENV)/.test          ## ruff and mypy
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/mypy

golden: $(VENV)/.test        ## write the golden reports again
	GOLDEN=write $(BIN)/python -m pytest -q tests/reports

report-card: $(VENV)/.test   ## what firstbreak says of the published runs, beside a reader's verdict
	$(BIN)/python -m benchmarks.report_card

$(VENV)/.bench: $(VENV)/.test
	$(PIP) -e ".[bench]"
	touch $@

bench-statistics: $(VENV)/.test ## false alarms, power and coverage of the statistics
	$(BIN)/python -m benchmarks.statistics

docs: $(VENV)/.test          ## the pages that are made from code and figures
	$(BIN)/python -m benchmarks.pages
	$(BIN)/python -m benchmarks.tutorials

coverage: $(VENV)/.bench     ## share of each trainer's logged names that are understood
	$(BIN)/python -m benchmarks.coverage

bench: $(VENV)/.bench         ## firstbreak, peers and thresholds on the lab's runs
	$(BIN)/python -m benchmarks.lab

bench-experiments: $(VENV)/.test ## what an experiment is worth and costs, 100 kills, and a survey of 10,000 runs
	$(BIN)/python -m benchmarks.experiments

bench-evaluation: $(VENV)/.test ## ledger, intervals, contamination
	$(BIN)/python -m benchmarks.evaluation

bench-readers: $(VENV)/.bench ## reading speed beside the fastest libraries
	$(BIN)/python -m benchmarks.readers

bench-preflight: $(VENV)/.test ## pre-flight checks on what is known to be broken or healthy
	$(BIN)/python -m benchmarks.preflight

bench-audit: $(VENV)/.test   ## hacks found in samples, false accusations, onsets, and megabytes a second
	$(BIN)/python -m benchmarks.audit

bench-web: $(VENV)/.test     ## first paint, live update, size and import time
	$(BIN)/python -m benchmarks.web

site: $(VENV)/.test          ## the documentation site, built strictly into site/
	$(BIN)/zensical build --strict --clean

fuzz: $(VENV)/.test          ## 1.2 million mutated files against the readers
	$(BIN)/python -m tests.fuzz.run --executions 100000 --output benchmarks/results/fuzz.json

bench-guard: $(VENV)/.bench  ## what the guard costs, how soon it stops, and kill -9
	$(BIN)/python -m benchmarks.guard
