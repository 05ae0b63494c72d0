"""Wrong ways to do GP-3, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def splitting(
    when="where[n] != where[n - 1]",
    give="nn.ModuleList(map(_assemble_partition, parts))",
    devices="[_retrieve_device(part[0]) for part in parts]",
):
    """The right answer in other words, with one of its parts done in another way."""
    return f"""
        all_of_them = list(modules)
        where = [_retrieve_device(module) for module in all_of_them]
        begins = [0] + [n for n in range(1, len(where)) if {when}]
        parts = [all_of_them[a:b] for a, b in zip(begins, [*begins[1:], None])]
        return {give}, {devices}
        """


MISTAKES = (
    PlantedMistake(
        "every layer alone", splitting(when="True"), says="a part ends where the device"
    ),
    PlantedMistake("one part", splitting(when="False"), says="a part ends where the device"),
    PlantedMistake(
        "marks are kept",
        splitting(give="nn.ModuleList(nn.Sequential(*part) for part in parts)"),
        says="still holds WithDevice",
    ),
    PlantedMistake(
        "by device",
        """
        groups = {}
        for module in modules:
            groups.setdefault(_retrieve_device(module), []).append(module)
        return nn.ModuleList(map(_assemble_partition, groups.values())), list(groups)
        """,
        says="a device may have two parts",
    ),
    PlantedMistake("a device a layer", splitting(devices="where"), says="one a part"),
    PlantedMistake(
        "a plain list", splitting(give="[_assemble_partition(p) for p in parts]"), says="ModuleList"
    ),
    PlantedMistake(
        "the last part forgotten",
        splitting(give="nn.ModuleList(map(_assemble_partition, parts[:-1]))"),
        says="each layer once",
    ),
)
ALSO_RIGHT = {"by where parts begin": splitting()}
