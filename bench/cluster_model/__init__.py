"""Judge `helpers.cluster` against measured clusters, and fit its constants.

`published` holds the measured rows, `fit` sets the constants, `validate` judges the rows, and
`page` writes docs/cluster_model.md. The command: `python -m helpers.cluster.validate`.
"""
