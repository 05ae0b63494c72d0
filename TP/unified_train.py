"""Train a network of two layers on digits: data parallel, tensor parallel, or both.

    mpirun -n 8 python unified_train.py --mp_size 2 --dp_size 4                   naive
    mpirun -n 8 python unified_train.py --mp_size 4 --dp_size 2 --megatron-mp     Megatron
    python unified_train.py --mp_size 1 --dp_size 1                               one process

All of them learn the same network, as one process does: only the order of additions differs.
The data: data/MNISTdata.hdf5 where you have put it, else digits that are drawn here.
"""

from pathlib import Path

import numpy as np
from data.data_parallel_preprocess import split_data
from data.digits import make_digits, read_digits
from model.layers import Mlp, cross_entropy, draw_weights, make_grid, sum_over
from mpi_wrapper.world import Flags, find_world, plain_errors

MNIST = Path(__file__).resolve().parent / "data/MNISTdata.hdf5"
CLASSES = 10


def read_flags(arguments=None):
    parser = Flags(__doc__)
    add = parser.add_argument
    add("--mp_size", type=int, default=1, help="ranks that share one copy of the model (1)")
    add("--dp_size", type=int, default=1, help="copies of the model (1)")
    add("--megatron-mp", action="store_true", help="cut the second layer along its inputs")
    add("--epochs", type=int, default=3, help="times through the data (3)")
    add("--batch_size", type=int, default=120, help="rows of all copies together (120)")
    add("--lr", type=float, default=0.3, help="learning rate of the first epoch (0.3)")
    add("--decay", type=float, default=0.8, help="factor on it after each epoch (0.8)")
    add("--hidden", type=int, default=256, help="outputs of the first layer (256)")
    add("--seed", type=int, default=0, help="of the weights and of the order (0)")
    add("--data", type=Path, help="an HDF5 file with x_train, y_train, x_test, y_test")
    options = parser.parse_args(arguments)
    for name in ("mp_size", "dp_size", "epochs", "batch_size", "hidden"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name} is {getattr(options, name)}: give a whole number from 1")
    if options.batch_size % options.dp_size:
        cut = f"{options.batch_size} rows cannot be divided among {options.dp_size} copies"
        raise ValueError(f"a batch of {cut} of the model: --dp_size must divide --batch_size")
    return options


def train(comm, options, data):
    """Train; rank 0 prints a line after each epoch. Return this rank's network."""
    x, y = data["x_train"], data["y_train"]
    if options.batch_size > len(x):
        told = f"is {options.batch_size}, and there are {len(x)} rows: give that many at most"
        raise ValueError(f"--batch_size {told}")
    layout, sizes = (options.mp_size, options.dp_size), (x.shape[1], options.hidden, CLASSES)
    grid = make_grid(comm, *layout, options.megatron_mp, *sizes)
    net = Mlp(draw_weights(options.seed, *sizes, x.dtype), grid)
    order = np.random.default_rng(options.seed)  # the same on every rank: batches are shared
    for epoch in range(options.epochs):
        rate = options.lr * options.decay**epoch  # by epochs, so dp_size does not change it
        rows = order.permutation(len(x))
        for begin in range(0, len(x) - options.batch_size + 1, options.batch_size):
            batch = rows[begin : begin + options.batch_size]
            x_mine, y_mine = split_data(
                x[batch], y[batch], options.mp_size, options.dp_size, comm.Get_rank()
            )
            loss, grad = cross_entropy(net.forward(x_mine), y_mine, len(batch))
            net.backward(grad)
            net.step(rate)
            loss = float(sum_over(np.array(loss), grid.dp_comm))
        guesses = net.forward(data["x_test"]).argmax(axis=1)
        right = float((guesses == data["y_test"]).mean())
        if comm.Get_rank() == 0:
            print(f"epoch {epoch}: loss {loss:.4f}, test accuracy {right:.3f}")
    return net


if __name__ == "__main__":
    with plain_errors():
        options = read_flags()
        comm, path = find_world(), options.data or (MNIST if MNIST.exists() else None)
        net = train(comm, options, read_digits(path) if path else make_digits())
        groups = {"model-parallel": net.fc1.grid.mp_comm, "data-parallel": net.fc1.grid.dp_comm}
        for name, group in groups.items() if comm.Get_rank() == 0 else ():
            through = f"({group.total_bytes_transferred:,} through a root)"
            print(f"{name} group: rank 0 sends {group.bytes_sent:,} bytes in rings {through}")
