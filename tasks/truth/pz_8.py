"""PZ-8: what is enough for a pipeline whose layers are sharded."""

from tasks.truth import _pz

ENOUGH = {  # by ranks, layers and samples
    (16, 4, 4): (16, 966_656),
}
name = _pz.name


def cases(seed):
    return [
        _pz.case(16, 4, 4),
    ]


passed = _pz.star(lambda *sizes: ENOUGH[sizes])
agrees, explain = _pz.judge(
    lambda *sizes: ENOUGH.get(sizes),
    slow="gather and reduce each layer once each way, and let the pipelines work side by side",
    large="drop the whole weight after each layer, and shard the gradient at once",
)
