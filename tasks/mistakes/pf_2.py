"""Wrong ways to do PF-2, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def count(
    a="4 * (width * width + width)",
    f="2 * width * hidden + hidden + width",
    n="2 * width",
    layer="3 * a + 2 * f + 5 * n",
    end="2 * n",
):
    """The right answer with one of its parts done in another way."""
    return f"""
    a, f, n = {a}, {f}, {n}
    return layers * ({layer}) + {end}
    """


MISTAKES = (
    PlantedMistake("no last norms", count(end="0"), says="one more norm at its end (width"),
    PlantedMistake("one last norm", count(end="n"), says="and one is missing"),
    PlantedMistake("one attention", count(layer="2 * a + 2 * f + 5 * n"), says="two attentions"),
    PlantedMistake("norms of the encoder", count(layer="3 * a + 2 * f + 4 * n"), says="3 in the"),
    PlantedMistake("no norms", count(n="0"), says="the norms are missing"),
    PlantedMistake("norms that scale", count(n="width"), says="a scale and a shift"),
    PlantedMistake(
        "no biases",
        count(a="4 * width * width", f="2 * width * hidden"),
        says="every matrix has a bias",
    ),
    PlantedMistake("attention without", count(a="4 * width * width"), says="of the attention have"),
    PlantedMistake("three matrices", count(a="3 * (width * width + width)"), says="four matrices"),
    PlantedMistake("one way", count(f="width * hidden + hidden"), says="hidden and back"),
    PlantedMistake("feed-forward without", count(f="2 * width * hidden"), says="part has biases"),
    PlantedMistake("the encoder", count(layer="a + f + 2 * n", end="n"), says="the decoder is"),
    PlantedMistake("one layer", count().replace("layers * (", "("), says="only one layer"),
    PlantedMistake(
        "bytes", count().replace("return ", "return 4 * (") + "    )", says="bytes in float32"
    ),
    PlantedMistake("a guess", "\n    return 1000 * width\n    ", says="count each part again"),
    PlantedMistake("nothing", "\n    width * hidden\n    ", says="None is no number"),
)

ALSO_RIGHT = {
    "in one": """
    w, h = width, hidden
    return layers * (12 * w * (w + 1) + 4 * w * h + 2 * h + 2 * w + 10 * w) + 4 * w
    """,
}
