"""Work in place of the solutions of TR: what the check must name, and what it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "TR-1",
        "the pieces are summed",
        {" / pieces": "", "item()": "item() / pieces"},
        says="divide each piece's loss by pieces before backward()",
        met="transformers and other trainers until October 2024, with pieces of unequal lengths",
    ),
    Program(
        "TR-1",
        "pieces are forgotten",
        {"batch.chunk(pieces)": "[batch]", " / pieces": ""},
        says="with 3 equal pieces a batch they take 2, 2, 2",
    ),
    Program(
        "TR-1",
        "graphs in a list",
        {"0.0": "0", "+= loss.item()": "= of_batch + loss"},
        says="return numbers, loss.item()",
    ),
    Program(
        "TR-1",
        "losses are added up in float32",
        {
            "of_batch = 0.0": "of_batch = torch.zeros(())",
            "+= loss.item()": "+= loss.detach()",
            "append(of_batch)": "append(of_batch.item())",
        },
    ),
    Program("TR-1", "no return", {"return losses": ""}, says="train() returns None"),
)
