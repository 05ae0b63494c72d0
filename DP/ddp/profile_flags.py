"""The flags of profile_ddp.py."""

import argparse

from inputs import DTYPES, INPUTS, Shapes
from profiler import add_profiler_flags
from transformer import SIZES

from helpers.ranks.script import add_rank_flags
from simplellm.options import above_zero, number, positive

# To what power of the ranks the learning rate grows, because an epoch has fewer steps (README.md).
LR_RULES = {"none": 0.0, "sqrt": 0.5, "linear": 1.0}


def read_flags(description, arguments=None):
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=raw)
    add_rank_flags(parser, ranks=1)
    add = parser.add_argument_group("training").add_argument
    add("--size", choices=SIZES, default="small", help="of model and data (small); lab for a GPU")
    add("--epochs", type=positive, default=8, help="times through the data (8)")
    add("--batch-size", "--batch_size", type=positive, default=32, help="items a rank (32)")
    add("--lr", type=number(float, 0), default=3e-3, help="learning rate of Adam, one rank (0.003)")
    add("--lr-rule", choices=LR_RULES, default="none", help="lr times (ranks to 0, 1/2 or 1)")
    add("--seed", type=number(int, 0, 2**32), default=0, help="of weights, data and order (0)")
    add("--dtype", choices=DTYPES, default="float32", help="of data and products (float32)")
    add("--compile", action="store_true", help="torch.compile the model")
    add("--bucket-mb", type=above_zero, default=25.0, help="of DDP's buckets (25)")
    group = parser.add_argument_group("input")
    one = group.add_mutually_exclusive_group()
    one.add_argument("--input", choices=INPUTS, default="memory", help="where it is (memory)")
    one.add_argument("--hdf5", dest="input", action="store_const", const="hdf5", help="in HDF5")
    add = group.add_argument
    add("--data", metavar="FILE", help="of yours, or to be made (data/…, by its shapes)")
    add("--workers", type=number(int, 0), default=0, help="processes that read (0: the rank)")
    for name in ("src", "tgt"):
        add(f"--{name}-shape", f"--{name}_shape", type=int, nargs=3, help="items vectors numbers")
    add_profiler_flags(parser)

    options = parser.parse_args(arguments)
    size = SIZES[options.size]
    items, _, width = options.src_shape or options.tgt_shape or (size.items, 1, size.width)
    src, tgt = options.src_shape or (items, 1, width), options.tgt_shape or (items, 20, width)
    options.shapes = Shapes(tuple(src), tuple(tgt), options.dtype)
    if options.input in ("hdf5", "memmap") and options.dtype == "bfloat16":
        parser.error(
            f"--dtype bfloat16 --input {options.input}: numpy has no such type, and this file is "
            "read with numpy; take --input pt or safetensors, or --dtype float16"
        )
    return options
