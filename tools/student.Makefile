# The environment is that of the lab in which this copy was written; away from there, its own.
PYTHON ?= python3
VENV := $(if $(wildcard ../.venv/lab.done),../.venv,.venv)
export PYTHONPATH := $(CURDIR)

lab: $(VENV)/lab.done
	$(VENV)/bin/python -m jupyterlab $(if $(filter 0,$(shell id -u)),--allow-root) \
		--ServerApp.root_dir=. notebooks/00_welcome.ipynb
progress: $(VENV)/lab.done
	@$(VENV)/bin/python -m helpers.check --progress
.venv/lab.done:
	@$(PYTHON) tools/install.py
