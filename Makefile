# Needs python3 (3.11 or newer) and make; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# how many processes run the tests
WORKERS ?= 2
# how far the long trainings stand back behind all else: 19 for all that can be, 0 for not at all
NICE ?= 10
# more options of the site's build
SPHINX ?=
PIP_INSTALL := $(BIN)/python -m pip --disable-pip-version-check install -c constraints.txt
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
OLDEST := .venv-oldest
MANIFEST := setup.cfg pyproject.toml constraints.txt

# Byte code is kept, also where the environment says otherwise: else every process compiles dynlab anew.
unexport PYTHONDONTWRITEBYTECODE

.DELETE_ON_ERROR:
.PHONY: help demo test test-fast browser-test docs test-oldest fuzz faults coverage lint bench bench-full queue queue-status queue-results pages clean

help:
	@echo "make demo    install dynlab into $(VENV) and run it on what it ships; pictures go to figures/demo/"
	@echo "make test    install everything, then lint, types, import contract and the whole test suite"
	@echo "make test-fast   the tests that a change breaks first, in three minutes"
	@echo "make browser-test   the explorer and reports in headless Chromium, which Debian has: apt-get install chromium"
	@echo "make docs    the site of pages, lessons and reference, into build/site; warnings are errors"
	@echo "make test-oldest   the test suite in an environment of its own with the oldest versions that setup.cfg allows"
	@echo "make fuzz    many damaged checkpoints and random pickles, for some minutes"
	@echo "make faults  a hundred kills of every kind of writing by each of three signals, full and read-only disks"
	@echo "make coverage   the test suite once more, with the lines and branches it does not reach"
	@echo "make lint    lint, types, import contract and size alone"
	@echo "make bench   timed comparisons, each a ratio measured in one run, into benchmarks/results/"
	@echo "make bench-full   the same, and how the main jobs' times grow with their sizes"
	@echo "make queue   go on with the long trainings, on one core, until Ctrl-C; queue-status says how far they are"
	@echo "make pages   write docs/tables.md and docs/audit.md again, as after make queue-results, which kept new trainings"
	@echo "make clean   remove $(VENV), build leftovers and caches (figures stay)"

demo: $(VENV)/core.stamp
	$(BIN)/dynlab demo

# One thread each: two workers whose linear algebra takes two threads apiece get into each other's way.
test: lint
	$(PYTEST)

# what all else rests on: the truths, the program, the numerics, the tables and the command line
test-fast: $(VENV)/dev.stamp
	$(PYTEST) -m "not slow and not data" tests/test_problems.py tests/test_io.py tests/program tests/numerics tests/systems tests/cli/test_main.py tests/cli/test_refusals.py tests/explore/test_equations.py

browser-test: $(VENV)/dev.stamp
	@command -v chromium chromium-browser google-chrome >/dev/null || { echo "Chromium is not installed: apt-get install chromium"; exit 1; }
	$(PIP_INSTALL) -e '.[browser]'
	$(BIN)/python -m pytest tests/explore tests/report

# The source folder is the repository: a link leads to the same page here and there.
docs: $(VENV)/docs.stamp
	$(BIN)/python -m sphinx -W --keep-going -q -c docs -b html $(SPHINX) . build/site
	@echo "Site: build/site/index.html"

$(VENV)/docs.stamp: $(VENV)/dev.stamp
	$(PIP_INSTALL) -e '.[docs]'
	touch $@

# In an environment of its own: `make test` goes on with the newest.
test-oldest:
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip --disable-pip-version-check install -c constraints-oldest.txt -e '.[train,zarr,certify,fast,sweep,dev]'
	OMP_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -n $(WORKERS) --dist worksteal

fuzz: $(VENV)/dev.stamp
	DYNLAB_EXAMPLES=3000 nice $(BIN)/python -m pytest tests/checkpoints/test_inert.py tests/checkpoints/test_hostile_files.py

faults: $(VENV)/dev.stamp
	DYNLAB_FAULTS=100 DYNLAB_CLUSTER_WORKERS=4 nice $(BIN)/python -m pytest tests/faults tests/sweep/test_cluster.py

# Tracing every call makes the suite a third to a half slower.
coverage: $(VENV)/dev.stamp
	$(PYTEST) --cov --cov-report=term

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/size.py --check

bench: $(VENV)/bench.stamp
	$(BIN)/python benchmarks/table.py

bench-full: bench
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/stability_monitor.py
	$(BIN)/python benchmarks/scaling.py

# what the benchmarks compare dynlab with
$(VENV)/bench.stamp: $(VENV)/dev.stamp
	$(PIP_INSTALL) -e '.[bench]'
	touch $@

queue: $(VENV)/dev.stamp
	OMP_NUM_THREADS=1 nice -n $(NICE) $(MAKE) -f figures/Makefile PYTHON=$(BIN)/python

queue-status: $(VENV)/dev.stamp
	@$(MAKE) -s -f figures/Makefile status PYTHON=$(BIN)/python

# what the finished trainings gave, into a small file that is committed
queue-results: $(VENV)/dev.stamp
	@$(MAKE) -s -f figures/Makefile results PYTHON=$(BIN)/python
	@$(MAKE) pages

pages: $(VENV)/dev.stamp
	@$(BIN)/dynlab table all -o docs/tables.md --overwrite > /dev/null
	@$(BIN)/dynlab table audit -o docs/audit.md --overwrite > /dev/null

clean:
	rm -rf $(VENV) $(OLDEST) build dist dynlab_rnn.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/python.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dynlab needs Python 3.11 or newer, got " + sys.version.split()[0] + "; name another one: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/core.stamp: $(VENV)/python.stamp $(MANIFEST)
	$(PIP_INSTALL) -e .
	touch $@

# the whole includes the core: after `make test`, `make demo` installs nothing more
$(VENV)/dev.stamp: $(VENV)/python.stamp $(MANIFEST)
	$(PIP_INSTALL) -e '.[train,zarr,certify,fast,sweep,dev]'
	touch $(VENV)/core.stamp $@
