"""The flags that scripts share: where numbers come from, and what is refused before any work."""

import pytest

from simplellm.options import OneDeviceFlags, TrainingFlags, prepare

SIZES = {
    "story": "stories-small 64 4 2 128 0.01 600 small",
    "laptop": "stories-small 64 4 6 128 0.004 50 small",
    "lab": "stories-4096 288 6 6 256 0.0008 5000 large",
}


@pytest.mark.parametrize("size", SIZES)
def test_a_size_is_where_every_number_comes_from_that_is_not_given(size):
    options = OneDeviceFlags("", 3).parse_args(["--size", size])
    names = "tokenizer dmodel heads layers seq_l lr steps world".split()
    assert " ".join(str(getattr(options, name)) for name in names) == SIZES[size]
    rest = (options.batch_size, options.seed, options.like_ranks, options.threads, options.source)
    assert rest == (3, 0, 1, 1, "stories") and options.optimizer == "adam" and not options.start
    given = OneDeviceFlags("", 3).parse_args(["--size", size, "--layers", "0", "--steps", "0"])
    assert (given.layers, given.steps, given.dmodel) == (0, 0, options.dmodel)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--steps -1", "must be a whole number, 0 or more, not '-1'"),
        ("--batch-size 0", "must be a whole number, 1 or more, not '0'"),
        ("--lr fast", "must be a number, 0 or more, not 'fast'"),
        ("--lr inf", "must be a number, 0 or more, not 'inf'"),
        ("--threads 1025", "must be a whole number, from 1 to 1,024, not '1025'"),
        ("--seed 18446744073709551616", "must be a whole number, from 0 to 18,446,744,073,709,551"),
    ],
)
def test_a_number_out_of_range(flags, words, capsys):
    with pytest.raises(SystemExit):
        OneDeviceFlags("", 3).parse_args(flags.split())
    assert words in capsys.readouterr().err


def test_what_does_not_fit_together():
    parser = TrainingFlags("", 4, micro_batches=2, stages=3)
    with pytest.raises(ValueError, match="a batch of 4 cannot be cut into 3 equal micro-batches"):
        parser.parse_args(["--micro-batches", "3"])
    with pytest.raises(ValueError, match="2 layers cannot fill 3 stages"):
        parser.parse_args(["--layers", "2"])
    with pytest.raises(ValueError, match="8 layers of width 10,000,000 .* need more than"):
        prepare(parser.parse_args("--dmodel 10000000 --layers 8".split()), "cpu")
    with pytest.raises(ValueError, match="500,000,000 windows of 128 tokens at one time need more"):
        prepare(parser.parse_args(["--batch-size", "1000000000"]), "cpu")
