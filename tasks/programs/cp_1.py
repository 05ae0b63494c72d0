"""CP-1: wrong and right work, as programs."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "not safe",
        """
        m = torch.maximum(one.m, other.m)
        a, b = (one.m - m).exp(), (other.m - m).exp()
        return Partial(a * one.o + b * other.o, m, a * one.l + b * other.l)
        """,
        says="-inf minus -inf",
    ),
    Program("no Partial", "return one.o + other.o", says="must return a Partial"),
)

RIGHT = {
    "by logarithms": """
        m = one.m.maximum(other.m)
        factors = [torch.exp(each.m - shift(m)) for each in (one, other)]
        o, l = (
            sum(f * getattr(each, name) for f, each in zip(factors, (one, other)))
            for name in "ol"
        )
        return Partial(o, m, l)
        """,
}
