"""PF-2: what the shapes of the data change, and what they do not."""

from helpers.grade import Task

TASK = Task(
    id="PF-2",
    title="count the parameters of torch.nn.Transformer",
    file="DP/ddp/transformer.py",
    function="count_parameters",
    notebook="10",
    points=10,
    minutes=25,
    hints=(
        "Count one attention, one feed-forward part and one norm first, biases too. Which of the "
        "three dimensions of src and tgt is in none of your formulas?",
        "An attention: four times a square matrix and its bias. A feed-forward part: there and "
        "back, and two biases of different length. A norm: two vectors. Then put the layers "
        "together, and mind that the decoder's have one attention and one norm more.",
        "With a, f, n for the three: an encoder's layer is a + f + 2 n, a decoder's 2 a + f + 3 n. "
        "Take all layers of both, and add 2 n for the two last norms. Width 512, layers 6 and "
        "hidden 2048 must make 44,140,544.",
    ),
)


def run(module, case):
    """The work's count. case: [width, layers, hidden]."""
    return module.count_parameters(*case)
