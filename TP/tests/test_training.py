"""The layers and the training on ranks are those of one process, in both ways to cut."""

import h5py
import numpy as np
import pytest
import unified_train
from data.digits import make_digits, read_digits
from model.layers import Layer, Mlp, cross_entropy, draw_weights, make_grid
from mpi4py import MPI
from mpi_wrapper import Communicator

pytestmark = pytest.mark.mpi
SIZES = (12, 16, 8)  # inputs, hidden, classes: eight ranks divide what they cut
DIGITS = make_digits(240, 50)
TOLERANCE = 1e-12  # float64; only the order of additions differs


def grid_of(comm, mp_size, megatron):
    return make_grid(comm, mp_size, comm.Get_size() // mp_size, megatron, *SIZES)


def alone(megatron=False):
    return make_grid(Communicator(MPI.COMM_SELF), 1, 1, megatron, *SIZES)


def layouts(ranks):
    sizes = [m for m in (1, 2, 4, 8) if ranks % m == 0]
    return [(m, megatron) for m in sizes for megatron in (False, True)]


def part_of(whole, mine, grid, cut_rows):
    """The slice of one process's tensor that this rank's tensor should be."""
    if whole.shape == mine.shape:
        return whole
    return np.split(whole, grid.mp_size, axis=0 if cut_rows else -1)[grid.mp_idx]


def test_a_step_is_that_of_one_process(comm):
    rng = np.random.default_rng(3)
    rows = 16
    x, y = rng.normal(size=(rows, SIZES[0])), rng.integers(0, SIZES[2], rows)
    weights = draw_weights(0, *SIZES, np.float64)
    weights[1] = rng.normal(size=SIZES[1])  # a bias of zeros would hide a bias in the wrong place
    weights[3] = rng.normal(size=SIZES[2])
    one = Mlp(weights, alone())
    expected, grad = cross_entropy(one.forward(x), y, rows)
    one.backward(grad)
    one.step(0.5)
    for mp_size, megatron in layouts(comm.Get_size()):
        grid = grid_of(comm, mp_size, megatron)
        net = Mlp(weights, grid)
        part = slice(grid.dp_idx * rows // grid.dp_size, (grid.dp_idx + 1) * rows // grid.dp_size)
        loss, grad = cross_entropy(net.forward(x[part]), y[part], rows)
        net.backward(grad)
        net.step(0.5)
        total = np.empty(1)
        grid.dp_comm.Allreduce(np.array([loss]), total)
        assert total[0] == pytest.approx(expected, rel=TOLERANCE)
        for layer in ("fc1", "fc2"):
            ours, whole = getattr(net, layer), getattr(one, layer)
            for right, found in ((whole.w, ours.w), (whole.b, ours.b)):
                part = part_of(right, found, grid, ours.cuts_inputs)
                assert np.abs(part - found).max() < TOLERANCE


@pytest.mark.parametrize("megatron", [False, True])
@pytest.mark.parametrize("is_fc1", [True, False])
def test_the_gradient_of_a_layers_input_is_that_of_one_process(world, is_fc1, megatron):
    """A block in the middle of a stack needs it of its first layer too."""
    rng, mp_size = np.random.default_rng(5), world.Get_size()
    x, w, grad = (rng.normal(size=size) for size in ((4, 16), (16, 8), (4, 8)))
    one = Layer(w, np.zeros(8), alone(), is_fc1)
    output = one.forward(x)
    input_grad = one.backward(grad)
    grid = grid_of(world, mp_size, megatron)

    def mine(array):
        return np.split(array, mp_size, axis=-1)[grid.mp_idx]

    layer = Layer(w, np.zeros(8), grid, is_fc1)
    found = layer.forward(x if is_fc1 else mine(x))
    assert np.abs(found - (mine(output) if is_fc1 else output)).max() < TOLERANCE
    found = layer.backward(mine(grad) if is_fc1 else grad)
    assert np.abs(found - (input_grad if is_fc1 else mine(input_grad))).max() < TOLERANCE


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--dp_size", "7"], "a batch of 120 rows cannot be divided among 7 copies of the model"),
        (["--mp_size", "0"], "--mp_size is 0: give a whole number from 1"),
        (["--size", "3"], "unrecognized arguments"),
    ],
)
def test_wrong_flags_are_one_sentence(flags, words):
    with pytest.raises(ValueError, match=words):
        unified_train.read_flags(flags)


def test_a_file_of_digits_comes_back_and_one_that_misses_an_array_is_refused(tmp_path):
    path = tmp_path / "some.hdf5"
    with h5py.File(path, "w") as file:
        for name, array in DIGITS.items():
            file[name] = array[:, None] if name[0] == "y" else (255 * array).astype(np.uint8)
    found = read_digits(path)
    assert np.abs(found["x_train"] - DIGITS["x_train"]).max() < 1 / 255
    assert found["x_train"].dtype == np.float32 and np.array_equal(
        found["y_test"], DIGITS["y_test"]
    )
    with h5py.File(path, "a") as file:
        del file["y_test"]
    with pytest.raises(ValueError, match="some.hdf5 is no HDF5 file with x_train.*y_test"):
        read_digits(path)
