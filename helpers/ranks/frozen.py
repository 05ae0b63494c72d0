"""Imported last by the process that ranks are forked from: what is there now stays shared."""

import gc

gc.freeze()
