"""PZ-8: what is enough for a pipeline whose layers are sharded."""

from tasks.truth import _pz

name = _pz.name
cases, enough = _pz.listed({(16, 4, 4): (16, 966_656)}, profile="steps")
passed = _pz.star(enough)
explain = _pz.judge(
    enough,
    slow="gather and reduce each layer once each way, and let the pipelines work side by side",
    large="drop the whole weight after each layer, and shard the gradient at once",
)
