"""PP-2: wrong work, some of which trains without a sign of it, and right work."""

from helpers.grade.task import Program

BACK = "for k in range(micro_batches):\n    backward(k)"
SUM = "return sum(losses)"

PROGRAMS = (
    Program("losses summed", {" / micro_batches": ""}, says="every gradient is 6 times too large"),
    Program(
        "the gradients divided at the end",
        {
            " / micro_batches": "",
            SUM: f"[p.grad.div_(micro_batches) for p in stage.parameters()]\n{SUM} / micro_batches",
        },
        says="the gradients that were there before the call were divided too",
    ),
    Program(
        "only the last micro-batch",
        {"y.backward": "stage.zero_grad(); y.backward"},
        says="only the last micro-batch",
    ),
    Program(
        "the ids of another micro-batch",
        {"(y, parts[k]": "(y, parts[k - 1]"},
        says="the loss of micro-batch 0 is computed with the ids of micro-batch 5",
    ),
    Program(
        "backward in another order on the last rank",
        {BACK: BACK.replace("micro_batches)", "micro_batches)[:: -1 if rank == last else 1]")},
        says="rank 2 goes backward through micro-batch 0 with the gradient of micro-batch 5",
    ),
    Program(
        "the loss not divided",
        {"append(y.detach())": "append(y.detach() * micro_batches)"},
        says="the loss that the last rank gives is the sum over the micro-batches",
    ),
    Program(
        "forgot requires_grad_",
        {"x.requires_grad_()": "pass"},
        says="exists only where x.requires_grad_() was called before stage(x)",
    ),
    Program(
        "never sends back",
        {"dist.send(x.grad, rank - 1)": "pass"},
        says="every rank but the first x.grad to rank - 1",
    ),
)

RIGHT = {
    "the last one comes back first": {BACK: BACK.replace("micro_batches)", "micro_batches)[::-1]")}
}
