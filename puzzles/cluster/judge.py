"""The end of a step: has every layer been trained, once, on every rank that holds it?"""

from cluster.errors import Forged, Missing, PuzzleError
from cluster.facts import missing_parts, numbers
from cluster.model import Model


def check(models) -> None:
    """Return if the step is right. Raises PuzzleError: the first thing that is not."""
    cluster = cluster_of(models)
    ranks = cluster.ranks
    for rank in ranks:
        for pending in rank.pending.values():
            if not pending.taken:
                raise Missing(
                    f"rank {rank.number} never waited for what it had started: it "
                    f"{pending.doing()}; write await before it, or await it later"
                )
            raise Missing(f"rank {rank.number} has not ended: it {pending.doing()}")
    for layer in range(ranks[0].layers):
        finals = [rank.finals[layer] for rank in ranks if layer in rank.finals]
        if not finals:
            raise Missing(
                f"no rank has handed in a new weight of layer {layer}: call set_final_weight after "
                "the update of every layer"
            )
        if missing_parts(finals):
            shards = frozenset().union(*(f.shards for f in finals))
            raise Missing(
                f"layer {layer} is not complete: of its {finals[0].parts} shards, the ranks handed "
                f"in {numbers(shards, 'shard')}"
            )
        for rank in ranks:
            if layer in rank.loaded and layer not in rank.finals:
                raise Missing(
                    f"rank {rank.number} has loaded layer {layer} and handed in no new weight of "
                    "it: its copy is stale, and would spoil the next step"
                )


def cluster_of(models):
    """The cluster of a list of all its models, in any order. Raises Forged, Missing."""
    models = list(models)
    if not models:
        raise Missing("there are no models to check: give the list of what all ranks returned")
    for number, model in enumerate(models):
        if model is None:
            raise Missing(f"the step of rank {number} returned nothing: end it with `return model`")
        if not isinstance(model, Model):
            raise Forged(f"rank {number} returned a {type(model).__name__}, not its model")
    clusters = {id(model._books.cluster): model._books.cluster for model in models}
    if len(clusters) > 1:
        raise Forged("these models belong to several clusters: check those of one run together")
    (cluster,) = clusters.values()
    given = sorted(model._books.number for model in models)
    if given != list(cluster.everyone):
        lost = set(cluster.everyone) - set(given)
        told = f"{numbers(lost, 'rank')} missing" if lost else "one rank twice"
        raise Missing(f"give the models of all {cluster.world_size} ranks, each once: {told}")
    if any(model._books is not cluster.ranks[model._books.number] for model in models):
        raise PuzzleError("a model was made anew: check the models that ran the step")
    return cluster
