"""Wrong ways to do CO-1, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def counted(
    norms="2 * h",
    mlp="3 * h * i",
    kv="kv",
    last="h",
    tables="(1 if model.tied else 2)",
    more="0",
    operations="2 * s * matrices + 4 * s * s * h",
    weights="layer",
    scores="2 * scores",
    peak="max(softmax, end)",
    each="2",
    give="parameters, operations / 1e12, memory / 1e9",
):
    """The count with one of its parts done in another way."""
    return f"""
        matrices = 2 * h * h + 2 * h * {kv} + {mlp}
        layer = matrices + {norms}
        parameters = model.layers * layer + {last} + {tables} * model.vocabulary * h + {more}
        layer = matrices + 2 * h
        operations = {operations}
        scores = model.heads * s
        softmax, end = 3 * h + 2 * kv + {scores}, 8 * h + 2 * kv + scores + 4 * i
        memory = {each} * ({weights} + s * {peak})
        return {give}
        """


MISTAKES = (
    PlantedMistake(
        "a table of positions",
        counted(more="model.positions * h"),
        says="a table of positions is in it",
    ),
    PlantedMistake("no norms", counted(norms="0", last="0"), says="the norms are missing"),
    PlantedMistake("no last norm", counted(last="0"), says="the last norm is missing"),
    PlantedMistake("no norms in layers", counted(norms="0"), says="two norms of each layer"),
    PlantedMistake(
        "a shift in each norm", counted(norms="4 * h", last="2 * h"), says="a scale, and no shift"
    ),
    PlantedMistake("two matrices in the MLP", counted(mlp="2 * h * i"), says="gate, up and down"),
    PlantedMistake("as many K as Q", counted(kv="h"), says="K and V have fewer heads than Q"),
    PlantedMistake("one layer", counted(more="(1 - model.layers) * layer"), says="only one layer"),
    PlantedMistake("no output matrix", counted(tables="1"), says="the output matrix is missing"),
    PlantedMistake("tied counted twice", counted(tables="2"), says="embedding again (tied)"),
    PlantedMistake(
        "multiplied, not added",
        counted(operations="s * matrices + 2 * s * s * h"),
        says="each weight is multiplied and added",
    ),
    PlantedMistake(
        "no scores", counted(operations="2 * s * matrices"), says="the attention scores, and their"
    ),
    PlantedMistake(
        "half of the scores",
        counted(operations="2 * s * matrices + 2 * s * s * h"),
        says="one of the two is missing, or half",
    ),
    PlantedMistake(
        "all layers",
        counted(give="parameters, model.layers * operations / 1e12, memory / 1e9"),
        says="these are all layers",
    ),
    PlantedMistake(
        "backward too",
        counted(give="parameters, 3 * operations / 1e12, memory / 1e9"),
        says="the backward pass is in it",
    ),
    PlantedMistake(
        "the logits too",
        counted(operations="2 * s * (matrices + h * model.vocabulary) + 4 * s * s * h"),
        says="the output matrix is in it",
    ),
    PlantedMistake(
        "operations, not TFLOPs",
        counted(give="parameters, operations, memory / 1e9"),
        says="divide by 1e12",
    ),
    PlantedMistake(
        "one token",
        counted(operations="2 * matrices + 4 * s * h"),
        says="this is for one token",
    ),
    PlantedMistake("no weights", counted(weights="0"), says="the weights of the layer are missing"),
    PlantedMistake("no activations", counted(peak="0"), says="the activations are missing"),
    PlantedMistake("fp32", counted(each="4"), says="this is for 4 bytes a value"),
    PlantedMistake("one byte", counted(each="1"), says="and this counts 1"),
    PlantedMistake(
        "GiB",
        counted(give="parameters, operations / 1e12, memory / 2**30"),
        says="these are GiB",
    ),
    PlantedMistake(
        "bytes", counted(give="parameters, operations / 1e12, memory"), says="these are bytes"
    ),
    PlantedMistake(
        "one matrix of scores", counted(scores="scores", peak="softmax"), says="one of the two"
    ),
    PlantedMistake("never at the end", counted(peak="softmax"), says="just after softmax is not"),
    PlantedMistake("always at the end", counted(peak="end"), says="the end of the layer is not"),
    PlantedMistake("both at once", counted(peak="(softmax + end)"), says="not at the same time"),
    PlantedMistake(
        "the weights of all layers", counted(weights="layer * model.layers"), says="of all layers"
    ),
    PlantedMistake("a dictionary", "return {'parameters': 1}", says="give three numbers"),
    PlantedMistake("a text", "return 'many', 1.0, 1.0", says="parameters: 'many' is no number"),
    PlantedMistake(
        "nonsense", "return 7, 1.0, 1.0", says="parameters: 7 is not right, for a LLaMA"
    ),
)

ALSO_RIGHT = {
    "plain": counted(),
    "rounded": counted(give="parameters, round(operations / 1e12, 4), round(memory / 1e9, 4)"),
    "by the library": """
        from helpers.cost import parameters

        return parameters(model).total, flops(model).layer / 1e12, forward_peak(model).total / 1e9
        """,
}
