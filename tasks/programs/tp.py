"""Work in place of the solutions of TP: what the check must name, and what it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "TP-1",
        "data-parallel major",
        {"rank // mp_size": "rank % dp_size"},
        says="the copy of a rank is rank // mp_size",
    ),
    Program(
        "TP-2",
        "data-parallel major",
        {"rank % mp_size, rank // mp_size": "rank // dp_size, rank % dp_size"},
        says="as if the ranks of one copy stood dp_size apart",
    ),
    Program(
        "TP-3",
        "reshaped",
        {"np.concatenate(list(gathered), axis=-1)": "gathered.reshape(len(x), -1)"},
        says="so a reshape mixes rows and parts",
    ),
    Program(
        "TP-3",
        "rank 0 alone",
        {"mp_comm.Allgather": "mp_comm.Get_rank() == 0 and mp_comm.Allgather"},
        says="a rank waits in a collective that another one never calls",
    ),
    Program(
        "TP-4",
        "mean",
        {"return total": "return (total / mp_size).astype(out.dtype)"},
        says="this is the mean of the terms",
    ),
    Program(
        "TP-4",
        "the gradient of the input summed",
        {
            "return grad_x": (
                "total = np.empty(grad_x.shape, grad_x.dtype)\n"
                "mp_comm.Allreduce(np.ascontiguousarray(grad_x), total)\n"
                "return total"
            )
        },
        says="Allreduce is not needed",
    ),
    Program(
        "TP-4",
        "gathered and added",
        {
            "np.empty(out.shape": "np.empty((mp_size, *out.shape)",
            "Allreduce": "Allgather",
            "return total": "return total.sum(axis=0)",
        },
    ),
    Program(
        "TP-5",
        "the sum goes backward too",
        {"return gradient ": "return all_reduced(gradient) "},
        says="the gradient is 3 times too large",
        met="microsoft/ltp-megatron-lm#68: torch.distributed.nn.all_reduce adds up gradients too",
    ),
    Program(
        "TP-6",
        "no Copy",
        {"Copy.apply(x)": "x"},
        says="the gradient of x is this rank's own term alone",
        met="NVIDIA/Megatron-LM#7452: a norm's gradient isn't summed over its ranks",
    ),
    Program(
        "TP-6",
        "the sum goes backward too",
        {"Sum.apply(F.linear(x, self.weight))": "Copy.apply(Sum.apply(F.linear(x, self.weight)))"},
        says="the gradient of weight is 3 times too large: it is added up over ranks that all",
        met="microsoft/ltp-megatron-lm#68: torch.distributed.nn.all_reduce adds up gradients too",
    ),
    Program(
        "TP-6",
        "the part of rank 0",
        {"[rank]": "[0]"},
        says="rank 1: self.weight is the part of rank 0",
    ),
    Program("TP-7", "no sums", {"Sum.apply": ""}, says="nothing is added up over the ranks"),
    Program(
        "TP-7",
        "own sum",
        {"Sum.apply(shifted.exp().sum(-1))": "shifted.exp().sum(-1)"},
        says="the other ranks have tokens too",
    ),
    Program(
        "TP-7", "not shifted", {"logits - largest[:, None]": "logits"}, says="logits around 800"
    ),
)
