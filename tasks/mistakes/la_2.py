"""Wrong ways to do LA-2, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def answer(
    local="sum(host == mine for host in hosts[:rank])",
    size="sum(host == mine for host in hosts)",
    names="sorted(set(hosts), key=hosts.index)",
    node="names.index(mine)",
    give="local, size, node, len(names)",
):
    """The right answer with one of its parts done in another way."""
    return f"""
        mine = hosts[rank]
        size = {size}
        local = {local}
        names = {names}
        node = {node}
        return {give}
        """


MISTAKES = (
    PlantedMistake("ranks side by side", answer(local="rank % size"), says="like cards"),
    PlantedMistake(
        "counts itself", answer(local="hosts[:rank + 1].count(mine)"), says="local rank"
    ),
    PlantedMistake(
        "the same size everywhere", answer(size="hosts.count(hosts[0])"), says="unequal"
    ),
    PlantedMistake("all are here", answer(size="len(hosts)"), says="the local size of rank 0"),
    PlantedMistake(
        "machines side by side", answer(node="rank // size"), says="the machine of rank"
    ),
    PlantedMistake(
        "one machine too few", answer(give="local, size, node, len(names) - 1"), says="number of"
    ),
    PlantedMistake("the name", answer(node="mine"), says="the machine of rank 0 is 0"),
    PlantedMistake("two numbers", answer(give="local, size"), says="give four numbers"),
)

ALSO_RIGHT = {
    "plain": answer(),
    "a loop": """
        counts, order = {}, []
        local = None
        for other, host in enumerate(hosts):
            if host not in counts:
                counts[host] = 0
                order.append(host)
            if other == rank:
                local = counts[host]
            counts[host] += 1
        return [local, counts[hosts[rank]], order.index(hosts[rank]), len(order)]
        """,
}
