"""GP-3: wrong programs that the check must catch, and right ones that it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "by device",
        """
        groups = {}
        for module in modules:
            groups.setdefault(_retrieve_device(module), []).append(module)
        return nn.ModuleList(map(_assemble_partition, groups.values())), list(groups)
        """,
        says="a device may have two parts",
    ),
)

RIGHT = {
    "by where parts begin": """
        all_of_them = list(modules)
        where = [_retrieve_device(module) for module in all_of_them]
        begins = [0] + [n for n in range(1, len(where)) if where[n] != where[n - 1]]
        parts = [all_of_them[a:b] for a, b in zip(begins, [*begins[1:], None])]
        devices = [_retrieve_device(part[0]) for part in parts]
        return nn.ModuleList(map(_assemble_partition, parts)), devices
        """,
}
