"""From `notebooks/source/NN_name.py` to the executed `notebooks/NN_name.ipynb` that is committed.

`python tools/notebooks.py` builds and executes every notebook whose source, or anything that it
imports from this repository, has changed. `--check` only says which these are, `--force` executes
all, and names (`01`, `03_data`) pick some. How a source is written: see `tools/lessons/rules.py`.
"""
