"""LA-1: wrong and right work, as programs."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "local rank 0 for all",
        """
        for r, s, x in LAUNCHERS:
            if r in environ and s in environ:
                number, count = int(environ[r]), int(environ[s])
                if not 0 <= number < count:
                    raise ValueError(f'{r}: {number} of {count}')
                local = int(environ.get(x, 0))
                return number, count, local
        return 0, 1, 0
        """,
        says="no local rank",
    ),
    Program(
        "RANK is believed whatever the others say",
        """
        for r, s, x in LAUNCHERS:
            if r in environ and s in environ:
                number, count = int(environ[r]), int(environ[s])
                if not 0 <= number < count:
                    raise ValueError(f'{r}: {number} of {count}')
                return number, count, int(environ.get(x, number))
        return 0, 1, 0
        """,
        says="four lonely trainings",
    ),
)
