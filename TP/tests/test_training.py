"""The layers and the training on ranks are those of one process, in both ways to cut."""

import h5py
import numpy as np
import pytest
import unified_train
from data.digits import make_digits, read_digits
from model.layers import Layer, Mlp, cross_entropy, draw_weights, make_grid
from mpi4py import MPI
from mpi_wrapper.comm import Communicator

pytestmark = pytest.mark.mpi
SIZES = (12, 16, 8)  # inputs, hidden, classes: eight ranks divide what they cut
TOLERANCE = 1e-12  # float64; only the order of additions differs
ALONE = make_grid(Communicator(MPI.COMM_SELF), 1, 1, False, *SIZES)


def close(found, whole, grid, axis=None):
    """Whether this rank's tensor is its part of one process's, along an axis; None: all of it."""
    mine = whole if axis is None else np.split(whole, grid.mp_size, axis=axis)[grid.mp_idx]
    return mine.shape == found.shape and np.abs(mine - found).max() < TOLERANCE


def taken(net, x, y, rows):
    """A step of the network; its loss, an array, as MPI takes it."""
    loss, grad = cross_entropy(net.forward(x), y, rows)
    net.backward(grad)
    net.step(0.5)
    return np.array([loss])


@pytest.mark.parametrize("megatron", [False, True])
def test_a_step_is_that_of_one_process(comm, megatron):
    rng, rows, ranks = np.random.default_rng(3), 16, comm.Get_size()
    x, y = rng.normal(size=(rows, SIZES[0])), rng.integers(0, SIZES[2], rows)
    weights = draw_weights(0, *SIZES, np.float64)
    weights[1] = rng.normal(size=SIZES[1])  # a bias of zeros would hide a bias in the wrong place
    weights[3] = rng.normal(size=SIZES[2])
    one = Mlp(weights, ALONE)
    expected = taken(one, x, y, rows)
    for k, new in enumerate((one.fc1.w, one.fc1.b, one.fc2.w, one.fc2.b)):
        step, near = new - weights[k], weights.copy()
        near[k] = weights[k] + 1e-4 * step  # the loss falls by what the gradient says
        loss, _ = cross_entropy(Mlp(near, ALONE).forward(x), y, rows)
        assert 0 < expected - loss == pytest.approx(1e-4 * np.sum(step**2) / 0.5, rel=1e-2)
    assert cross_entropy(np.array([[1e3, 0.0]]), [0], 1)[0] == 0  # without an overflow
    for mp_size in (m for m in (1, 2, 4, 8) if ranks % m == 0):
        grid = make_grid(comm, mp_size, ranks // mp_size, megatron, *SIZES)
        net, mine = Mlp(weights, grid), np.split(np.arange(rows), grid.dp_size)[grid.dp_idx]
        total = np.empty(1)
        grid.dp_comm.Allreduce(taken(net, x[mine], y[mine], rows), total)
        assert total == pytest.approx(expected, rel=TOLERANCE)
        assert close(net.fc1.w, one.fc1.w, grid, 1) and close(net.fc1.b, one.fc1.b, grid, 0)
        assert close(net.fc2.w, one.fc2.w, grid, 0 if megatron else 1)
        assert close(net.fc2.b, one.fc2.b, grid, None if megatron else 0)


@pytest.mark.parametrize("megatron", [False, True])
@pytest.mark.parametrize("is_fc1", [True, False])
def test_the_gradient_of_a_layers_input_is_that_of_one_process(world, is_fc1, megatron):
    """A block in the middle of a stack needs it of its first layer too."""
    rng, mp_size = np.random.default_rng(5), world.Get_size()
    x, w, grad = (rng.normal(size=size) for size in ((4, 16), (16, 8), (4, 8)))
    one = Layer(w, np.zeros(8), ALONE, is_fc1)
    output, input_grad = one.forward(x), one.backward(grad)
    grid = make_grid(world, mp_size, 1, megatron, *SIZES)

    def mine(array):
        return np.split(array, mp_size, axis=-1)[grid.mp_idx]

    layer = Layer(w, np.zeros(8), grid, is_fc1)
    assert close(layer.forward(x if is_fc1 else mine(x)), output, grid, -1 if is_fc1 else None)
    found = layer.backward(mine(grad) if is_fc1 else grad)
    assert close(found, input_grad, grid, None if is_fc1 else -1)


def test_wrong_flags_are_one_sentence():
    for flags, words in (
        (["--dp_size", "7"], "a batch of 120 rows cannot be divided among 7 copies of the model"),
        (["--mp_size", "0"], "--mp_size is 0: give a whole number from 1"),
    ):
        with pytest.raises(ValueError, match=words):
            unified_train.read_flags(flags)


def test_a_file_of_digits_comes_back_and_one_that_misses_an_array_is_refused(tmp_path):
    path, digits = tmp_path / "some.hdf5", make_digits(240, 50)
    with h5py.File(path, "w") as file:
        for name, array in digits.items():
            array = (255 * array).astype(np.uint8) if name == "x_train" else array
            file[name] = array[:, None] if name[0] == "y" else array
    found = read_digits(path)
    assert np.abs(found["x_train"] - digits["x_train"]).max() < 1 / 255
    assert found["x_train"].dtype == np.float32
    assert all(np.array_equal(found[name], digits[name]) for name in ("x_test", "y_test"))
    with h5py.File(path, "a") as file:
        del file["y_test"]
    with pytest.raises(ValueError, match="some.hdf5 is no HDF5 file with x_train.*y_test"):
        read_digits(path)
