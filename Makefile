# Every target is one line of Python that works without make too: see docs/installing.md.
# PYTHON=python3.12 make lab chooses the interpreter; LAB_TORCH=cpu|cuda|URL chooses the torch.

.DEFAULT_GOAL := help
.PHONY: help setup lab test test-all test-long demo notebooks budget figures constraints site bench stress mutations gpu student tasks progress

# A person's choice of Python is followed even if .venv has another; else the first one that will do.
ifdef PYTHON
CHOSEN := --this-python
else
PYTHON = $(or $(shell for p in python3 python3.13 python3.12 python3.14 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; \
	done),$(error There is no Python 3.11 or newer here: install one, or name it, \
	as in PYTHON=/path/to/python make lab))
CHOSEN :=
endif
VENV := .venv/bin/python
# In a container one is often root, which Jupyter refuses unless it is told.
ROOT_FLAG = $(if $(filter 0,$(shell id -u)),--allow-root)

help:
	@echo "make lab        set everything up and open the course in JupyterLab"
	@echo "make test       set everything up and run the tests (ONLY=pipeline: of one package)"
	@echo "make test-all   the same, and what takes longer: lessons executed, browser, random cases"
	@echo "make test-long  the further cases that test-all leaves out"
	@echo "make demo       train the small model on one device, then on three ranks, and compare"
	@echo "make notebooks  write the notebooks whose source has changed, and execute them if need be"
	@echo "make budget     how many lines each part of the project has, and may have"
	@echo "make constraints write the versions that set-up installs: those that are in .venv now"
	@echo "make figures    draw imgs/ again, from the schedules themselves"
	@echo "make site       write the lab as static pages to build/site"
	@echo "make bench      measure: ours beside a rival, in turn (ONLY=launches: one file of bench/)"
	@echo "make stress     repeat what must leave nothing behind, and try random cases by the thousand"
	@echo "make mutations break the code in 300 places, one at a time: which do the tests miss? Hours"
	@echo "make gpu        on a machine with GPUs: compare each script with the CPU, and measure"
	@echo "make student    write the student edition to build/student (REFERENCE=no: no skipping)"
	@echo "make progress   show the way through the lessons, and what is done of it"
	@echo "make tasks      write docs/tasks.md from the tasks"
	@echo "make setup      set everything up, no more"

setup:
	@"$(PYTHON)" tools/install.py $(CHOSEN)

lab: setup
	$(VENV) -m jupyterlab $(ROOT_FLAG) --ServerApp.root_dir=. notebooks/00_welcome.ipynb

test:
	@"$(PYTHON)" tools/run_tests.py $(CHOSEN) $(ONLY)

test-all:
	@"$(PYTHON)" tools/run_tests.py $(CHOSEN) --all $(ONLY)

test-long:
	@LAB_REPEAT=3 "$(PYTHON)" tools/run_tests.py $(CHOSEN) --long

demo: setup
	@$(VENV) demo.py

notebooks: setup
	@$(VENV) tools/notebooks.py

budget: setup
	@$(VENV) tools/budget.py

figures: setup
	@$(VENV) tools/figures.py

constraints: setup
	@$(VENV) tools/constraints.py

site:
	@"$(PYTHON)" tools/install.py $(CHOSEN) --extras site
	@$(VENV) tools/make_site.py

bench: setup
	@OMP_NUM_THREADS=1 $(VENV) -m bench $(ONLY)

stress:
	@"$(PYTHON)" tools/install.py $(CHOSEN) --extras test
	@LAB_REPEAT=100 $(VENV) -m pytest -q -m stress tests

mutations:
	@"$(PYTHON)" tools/install.py $(CHOSEN) --extras test
	@OMP_NUM_THREADS=1 $(VENV) tools/mutate.py

gpu: setup
	@$(VENV) tools/gpu.py

student: setup
	@$(VENV) -m helpers.grade.student $(if $(filter no,$(REFERENCE)),--no-reference)

progress: setup
	@$(VENV) -m helpers.grade.progress

tasks: setup
	@$(VENV) -m helpers.grade.page
