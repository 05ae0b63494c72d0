"""GP-3: wrong work."""

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
