# PYTHON=python3.12 make lab chooses the interpreter; LAB_TORCH=cpu|cuda|URL chooses the torch.
# Without make, on Windows: docs/installing.md.
PYTHON ?= $(or $(shell for p in python3 python3.13 python3.12 python3.14 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; \
	done),$(error There is no Python 3.11 or newer here: install one, or name it, \
	as in PYTHON=/path/to/python make lab))
VENV := .venv/bin/python
# In a container one is often root, which Jupyter refuses unless it is told.
ROOT_FLAG = $(if $(filter 0,$(shell id -u)),--allow-root)
# Of two workers one runs all that starts ranks, one test after the other.
TEST = $(VENV) -m pytest -q --durations=10 --continue-on-collection-errors -n 2
LESSONS := tests/notebooks/test_execution.py
ONLY = tests gpt2/tests
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup lab test test-all test-long lint tests lessons browser demo notebooks \
	budget figures constraints site bench gpu student progress

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

.venv/%.done: pyproject.toml constraints.txt
	@command -v "$(PYTHON)" >/dev/null || { echo 'There is no "$(PYTHON)" here: name a Python' \
		'that is, as in PYTHON=python3.12 make lab' >&2; exit 1; }
	@"$(PYTHON)" tools/install.py $*
setup: .venv/lab.done  ## set everything up in .venv

student: setup  ## write my-lab/, a copy without solutions for a learner, and open its lessons
	@$(VENV) -m helpers.check.student && $(MAKE) --no-print-directory -C my-lab
lab: setup  ## set everything up, and open the course in JupyterLab, with its solutions
	$(VENV) -m jupyterlab $(ROOT_FLAG) --ServerApp.root_dir=. notebooks/00_welcome.ipynb
demo: setup  ## train the small model on one device, then on three ranks, and compare
	@$(VENV) demo.py

test: .venv/test.done lint  ## set everything up, and test it (ONLY=tests/jobs: one folder)
	@$(TEST) -m "not slow" $(ONLY)
test-all: lint tests lessons browser  ## and what takes longer: each of its parts, below
lint: .venv/test.done  ## how the code is written
	@$(VENV) -m ruff check && $(VENV) -m ruff format --check
tests: .venv/test.done  ## every test but lessons, browser, and further cases
	@$(TEST) -m "not long" $(ONLY) --ignore=tests/browser --ignore=$(LESSONS)
lessons: .venv/test.done  ## execute all lessons: they must show what is committed
	@$(TEST) $(LESSONS)
browser: .venv/test.done  ## lessons, game and site in a browser
	@$(TEST) -n 0 -m "not long" tests/browser
test-long: .venv/test.done  ## the further cases that test-all leaves out
	@$(TEST) -n 0 -m long $(ONLY)
gpu: .venv/test.done  ## on a machine with GPUs: compare each script with the CPU, and measure
	@LAB_GPU=1 LAB_WARM=0 $(VENV) -m pytest -v -s tests/test_gpu.py

notebooks: setup  ## execute the lessons whose source has changed
	@$(VENV) tools/notebooks.py
figures: setup  ## draw imgs/ again, from the schedules themselves
	@$(VENV) tools/figures.py
site: .venv/site.done  ## write the lab as static pages to build/site
	@$(VENV) site/make.py
bench: setup  ## measure: ours beside a rival, in turn (ONLY=launches: one file of bench/)
	@OMP_NUM_THREADS=1 $(VENV) -m bench $(filter-out tests gpt2/tests,$(ONLY))
progress: setup  ## the way through the lessons, and what is done of it
	@$(VENV) -m helpers.check --progress
budget: setup  ## how many lines each part of the project has, and may have
	@$(VENV) tests/test_budget.py
constraints: setup  ## write down the versions that are in .venv now
	@$(VENV) -m pip freeze --exclude-editable | grep -vE '^(torch|triton|nvidia|cuda)' > constraints.txt
