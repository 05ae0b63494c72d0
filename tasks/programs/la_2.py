"""LA-2: wrong and right work, as programs."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "ranks side by side",
        """
        mine = hosts[rank]
        size = sum(host == mine for host in hosts)
        local = rank % size
        names = sorted(set(hosts), key=hosts.index)
        node = names.index(mine)
        return local, size, node, len(names)
        """,
        says="like cards",
    ),
)

RIGHT = {
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
