"""From `notebooks/source/NN_name.py` to the executed `notebooks/NN_name.ipynb` that is committed.

`python tools/notebooks.py` writes every notebook whose source has changed, and executes those whose
code, questions or own scripts have: see `digest`. `--check` only says which these are, `--force`
executes all, `--shares` counts how much of the code is the idea and in sight (see `sight`), and
names (`01`, `03_data`) pick some. `make test-all` executes every lesson and holds
what it shows against what is committed: see `compare`. How a source is written: see `rules`.
"""
