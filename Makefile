# Two commands on a fresh machine: `make demo` and `make test`. Each sets up what it needs in .venv.
# For those who change the code: `make quick` (seconds), `make lint`, `make test` (ten minutes), `make test-all` (everything).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# The CPU build of torch is installed first, so that nothing that depends on torch fetches another one.
TORCH ?= torch==2.13.0
# Trainers that need GPUs. Their modules that write metrics do not, and are all that is imported of them.
TRACKERS ?= verl==0.9.1 openrlhf==0.11.2 areal==1.0.4

.PHONY: help setup setup-test demo quick test test-all test-seeds lint golden report-card bench-statistics docs coverage bench bench-readers bench-recorder bench-experiments bench-guard bench-journeys bench-judgement bench-relations bench-preflight bench-web bench-peers site fuzz

help:            ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 18

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/.quick: $(VENV)/.core lab/pyproject.toml
	$(PIP) -e ".[test]" -e lab
	touch $@

$(VENV)/.test: $(VENV)/.quick
	$(PIP) "$(TORCH)"
	$(PIP) -e ".[test,full,trainers,loggers,cluster,check,eval,guard,web,mcp,docs,dev]" -e lab
	-$(PIP) --no-deps --upgrade --target $(VENV)/trackers $(TRACKERS)
	touch $@

setup: $(VENV)/.core
setup-test: $(VENV)/.test

demo: $(VENV)/.core          ## a real broken run, diagnosed
	$(BIN)/firstbreak demo

# What needs no extra but the core's own: the line from a file to a report.
QUICK ?= tests/engine tests/stats tests/readers tests/dialects tests/detectors tests/reports tests/test_signals.py \
	tests/test_hyperparameters.py tests/test_words.py tests/test_shipped_diagnoses.py

quick: $(VENV)/.quick        ## the core's tests, under half a minute
	HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest -n auto -m "not slow and not trainer and not browser" $(QUICK) $(ARGS)

test: $(VENV)/.test          ## the tests of every part, ten minutes on two cores
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "not thorough" $(ARGS)

test-all: $(VENV)/.test      ## every test, the laboratory and twenty scripts of users included, and other seeds
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS)
	$(MAKE) --no-print-directory test-seeds

# Added to each seed that a test gives to torch.
SEEDS ?= 1 2 3 4 5

test-seeds: $(VENV)/.test    ## every test that draws from torch's random numbers, under five other seeds
	for seed in $(SEEDS); do \
		FIRSTBREAK_TEST_SEED=$$seed $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m draws $(ARGS) || exit 1; \
	done

lint: $(VENV)/.test          ## ruff, mypy, and the size of each package
	$(BIN)/ruff check src lab tests benchmarks
	$(BIN)/ruff format --check src lab tests benchmarks
	$(BIN)/mypy
	@$(MAKE) --no-print-directory size

size: $(VENV)/.test          ## lines of each package and words of the pages, against the budgets in CONTRIBUTING.md
	@$(BIN)/python -m benchmarks.size_budget

same-diagnoses: $(VENV)/.test ## do two versions of the code say the same? ARGS="save FILE [--source SRC]", "compare BEFORE AFTER"
	$(BIN)/python -m benchmarks.same_diagnoses $(ARGS)

golden: $(VENV)/.test        ## write the golden reports again
	GOLDEN=write $(BIN)/python -m pytest -q tests/reports

report-card: $(VENV)/.test   ## what firstbreak says of the published runs, beside a reader's verdict
	$(BIN)/python -m benchmarks.report_card

$(VENV)/.bench: $(VENV)/.test
	$(PIP) -e ".[bench]"
	touch $@

bench-statistics: $(VENV)/.test ## false alarms, power and coverage of the statistics
	$(BIN)/python -m benchmarks.statistics

docs: $(VENV)/.test          ## the pages that are made from code and figures, committed or not, and the screenshots
	$(BIN)/python -m benchmarks.docs
	$(BIN)/python -m benchmarks.docs.site
	$(BIN)/python -m benchmarks.docs.screenshots
	$(BIN)/python -m benchmarks.tutorials

coverage: $(VENV)/.bench     ## share of each trainer's logged names that are understood
	$(BIN)/python -m benchmarks.coverage

bench: $(VENV)/.bench         ## firstbreak, peers and thresholds on the lab's runs
	$(BIN)/python -m benchmarks.lab

bench-experiments: $(VENV)/.test ## what an experiment is worth and costs, 100 kills, and a survey of 10,000 runs
	$(BIN)/python -m benchmarks.experiments

bench-journeys: $(VENV)/.test ## scripts as users write them, from a broken run to a close-out
	$(BIN)/python -m benchmarks.journeys $(ARGS)

bench-recorder: $(VENV)/.test ## faults of users' scripts with and without the recorder, and what it costs
	$(BIN)/python -m benchmarks.recorder $(ARGS)

bench-evaluation: $(VENV)/.test ## ledger, intervals, contamination
	$(BIN)/python -m benchmarks.evaluation

bench-facts: $(VENV)/.test   ## numbers and relations of texts that the run's own data deny, over 2,000 runs
	$(BIN)/python -m benchmarks.facts

bench-readers: $(VENV)/.bench ## reading speed beside the fastest libraries
	$(BIN)/python -m benchmarks.readers

bench-preflight: $(VENV)/.test ## pre-flight checks on what is known to be broken or healthy
	$(BIN)/python -m benchmarks.preflight

bench-audit: $(VENV)/.test   ## hacks found in samples, false accusations, onsets, and megabytes a second
	$(BIN)/python -m benchmarks.audit

bench-web: $(VENV)/.test     ## first paint, live update, size and import time
	$(BIN)/python -m benchmarks.web

bench-peers: $(VENV)/.bench  ## what firstbreak says of the runs that other tools make up for their own tests
	$(BIN)/python -m benchmarks.peers

bench-speed: $(VENV)/.test   ## start, long logs and the tests: processor time and peak memory
	$(BIN)/python -m benchmarks.speed $(ARGS)

bench-relations: $(VENV)/.bench ## which relations between numbers hold, and what is said of fresh sets (ARGS="--fresh SET")
	$(BIN)/python -m benchmarks.relations $(ARGS)

bench-judgement: $(VENV)/.bench ## what the verdicts say: right, free of contradictions, and steady under changes that mean nothing
	$(BIN)/python -m benchmarks.judgement $(ARGS)

lock: $(VENV)/.core          ## requirements/: versions and hashes of what the release workflow installs
	$(BIN)/python benchmarks/lock.py

$(VENV)/.site: $(VENV)/.quick
	$(PIP) -e ".[docs]"
	touch $@

site: $(VENV)/.site          ## the documentation site with its reference, built strictly into site/, under a minute
	$(BIN)/python -m benchmarks.docs.site
	$(BIN)/zensical build --strict --clean

fuzz: $(VENV)/.test          ## 1.2 million mutated files against the readers
	$(BIN)/python -m tests.fuzz.run --executions 100000 --output benchmarks/results/fuzz.json

attack: $(VENV)/.test        ## hostile files, names, links, bombs, clients and kills, counted into a table
	$(BIN)/python -m benchmarks.attack $(ARGS)

bench-guard: $(VENV)/.bench  ## what the guard costs, how soon it stops, and kill -9
	$(BIN)/python -m benchmarks.guard

# Every target that shows, makes or measures something. With SMALLEST=1 each of them is small and writes no committed file.
SCHEDULED := attack demo docs site coverage report-card fuzz bench bench-audit bench-evaluation bench-experiments bench-facts bench-guard \
	bench-journeys bench-judgement bench-peers bench-preflight bench-readers bench-recorder bench-relations bench-speed bench-statistics bench-web

.PHONY: size bench-speed same-diagnoses attack lock scheduled bench-recorder bench-audit bench-evaluation bench-facts

scheduled:       ## demo, pages and every benchmark once, at the smallest size
	@failed=""; for target in $(SCHEDULED); do \
		echo "== make $$target SMALLEST=1"; \
		SMALLEST=1 $(MAKE) --no-print-directory $$target || failed="$$failed $$target"; \
	done; \
	if [ -n "$$failed" ]; then echo "These targets failed:$$failed"; exit 1; fi
