"""TP-7: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program("no sums", {"Sum.apply": ""}, says="nothing is added up over the ranks"),
    Program(
        "own sum",
        {"Sum.apply(shifted.exp().sum(-1))": "shifted.exp().sum(-1)"},
        says="the other ranks have tokens too",
    ),
    Program("not shifted", {"logits - largest[:, None]": "logits"}, says="logits around 800"),
)
