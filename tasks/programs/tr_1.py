"""TR-1: wrong work, most of which lowers the loss all the same."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "the pieces are summed",
        {" / pieces": "", "item()": "item() / pieces"},
        says="divide each piece's loss by pieces before backward()",
        met="transformers and other trainers until October 2024, with pieces of unequal lengths",
    ),
    Program(
        "pieces are forgotten",
        {"batch.chunk(pieces)": "[batch]", " / pieces": ""},
        says="with 3 equal pieces a batch they take 2, 2, 2",
    ),
    Program(
        "graphs in a list",
        {"0.0": "0", "+= loss.item()": "= of_batch + loss"},
        says="return numbers, loss.item()",
    ),
    Program("no return", {"return losses": ""}, says="train() returns None"),
)
