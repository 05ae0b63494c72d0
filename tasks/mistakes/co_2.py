"""Wrong ways to do CO-2, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def solved(
    ratio="law.alpha * law.a / (law.beta * law.b)",
    product="budget / 6",
    power="law.beta",
    law="law",
    give="n, product / n",
):
    """The closed form with one of its parts done in another way."""
    return f"""
        law, product = {law}, {product}
        n = ({ratio} * product ** {power}) ** (1 / (law.alpha + law.beta))
        return {give}
        """


MISTAKES = (
    PlantedMistake(
        "N D = C", solved(product="budget"), says="N D is the budget, and 6 N D must be"
    ),
    PlantedMistake(
        "D alone", solved(give="n, product / n / 2"), says="6 N D is 0.5 times the budget"
    ),
    PlantedMistake("the other order", solved(give="product / n, n"), says="in the wrong order"),
    PlantedMistake(
        "20 tokens a parameter",
        "n = (budget / 120) ** 0.5; return n, 20 * n",
        says="D is 20 N: a rule of thumb",
    ),
    PlantedMistake(
        "half and half", "return (budget / 6) ** 0.5, (budget / 6) ** 0.5", says="alike"
    ),
    PlantedMistake(
        "no derivative", solved(ratio="law.a / law.b"), says="the exponents come in front"
    ),
    PlantedMistake(
        "alpha for beta", solved(power="law.alpha"), says="alpha and beta are exchanged"
    ),
    PlantedMistake(
        "the default law", solved(law="CHINCHILLA"), says="the constants are those of the default"
    ),
    PlantedMistake(
        "too small", solved(give="n / 3, 3 * product / n"), says="the model is too small: the loss"
    ),
    PlantedMistake(
        "too large", solved(give="n * 3, product / n / 3"), says="the model is too large: the loss"
    ),
    PlantedMistake("N alone", solved(give="n"), says="give two numbers, (N, D)"),
    PlantedMistake("below 0", solved(give="-n, product / n"), says="numbers above 0"),
)

ALSO_RIGHT = {
    "plain": solved(),
    "on a grid": """
        sizes = [10 ** (k / 2000) for k in range(2000, 28000)]
        n = min(sizes, key=lambda n: law.loss(n, budget / 6 / n))
        return n, budget / 6 / n
        """,
    "by the library": "best = law.best(budget); return best.parameters, best.tokens",
}
