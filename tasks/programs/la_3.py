"""LA-3: wrong and right work, as programs."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "a cable for each message",
        """
        n = len(hosts)
        part = size / n
        out, near = {}, False
        for r in range(n):
            h, other = hosts[r], hosts[(r + 1) % n]
            if h == other:
                near = True
            else:
                out[h] = out.get(h, 0) + 1
        times = [between.seconds(part) for h in out]
        if near:
            times.append(inside.seconds(part))
        step = max(times)
        return 2 * (n - 1) * step
        """,
        says="share its cable",
    ),
)
