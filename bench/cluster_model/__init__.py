"""What judges `helpers.cluster`: published rows, and the fit of its constants.

`python -m helpers.cluster.validate` prints them; docs/cluster_model.md says what they mean.
"""
