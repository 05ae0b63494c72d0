"""RC-1: wrong and right work, as programs."""

from helpers.grade.task import Program

BODY = """
        n = world_size
        flat = tensor.reshape(-1).clone()
        parts = list(flat.tensor_split(n))
        bytes_sent = 0
        for s in range(n - 1):
            mine, theirs = parts[(rank - s) % n], torch.empty_like(parts[(rank - s - 1) % n])
            work = dist.isend(mine, (rank + 1) % n)
            dist.recv(theirs, (rank - 1) % n)
            work.wait()
            parts[(rank - s - 1) % n] += theirs
            bytes_sent += mine.nbytes
        for s in range(n - 1):
            mine, theirs = parts[(rank - s + 1) % n], parts[(rank - s) % n]
            work = dist.isend(mine, (rank + 1) % n)
            dist.recv(theirs, (rank - 1) % n)
            work.wait()
            bytes_sent += mine.nbytes
        tensor.copy_(flat.view_as(tensor))
        return bytes_sent
        """

PROGRAMS = (
    Program(
        "a mean for a sum",
        BODY.replace("tensor)", "tensor) / n"),
        says="this is the mean",
    ),
    Program(
        "the remainder is dropped",
        BODY.replace(
            "parts = list(flat.tensor_split(n))",
            (
                "size = len(flat) // n\n"
                "        parts = [flat[r * size : (r + 1) * size] for r in range(n)]"
            ),
        ),
        says="numbers are not added up, with 4 ranks",
    ),
    Program(
        "rounded on the way",
        BODY.replace("= theirs", "= theirs.float().to(theirs.dtype)"),
        says="float32's accuracy",
    ),
    Program(
        "all send first",
        """
        n = world_size
        flat = tensor.reshape(-1).clone()
        parts = list(flat.tensor_split(n))
        bytes_sent = 0
        for s in range(n - 1):
            mine, theirs = parts[(rank - s) % n], torch.empty_like(parts[(rank - s - 1) % n])
            dist.send(mine, (rank + 1) % n)
            dist.recv(theirs, (rank - 1) % n)
            parts[(rank - s - 1) % n] += theirs
            bytes_sent += mine.nbytes
        for s in range(n - 1):
            mine, theirs = parts[(rank - s + 1) % n], parts[(rank - s) % n]
            dist.send(mine, (rank + 1) % n)
            dist.recv(theirs, (rank - 1) % n)
            bytes_sent += mine.nbytes
        tensor.copy_(flat.view_as(tensor))
        return bytes_sent
        """,
        says="deadlock: a ring of sends. Ranks 0, 1, 2 and 3 all send first",
        alone=True,
    ),
    Program(
        "a buffer of another type",
        BODY.replace("empty_like(parts[(rank - s - 1) % n]", "empty(parts[rank - s - 1].shape"),
        says="dtype mismatch",
        alone=True,
    ),
)

RIGHT = {
    "the other way round": """
        n = world_size
        flat = tensor.reshape(-1).clone()
        parts = list(flat.tensor_split(n))
        bytes_sent = 0
        for s in range(n - 1):
            mine, theirs = parts[(rank + s) % n], torch.empty_like(parts[(rank + s + 1) % n])
            work = dist.isend(mine, (rank + 0 - 1) % n)
            dist.recv(theirs, (rank + 1) % n)
            work.wait()
            parts[(rank + s + 1) % n] += theirs
            bytes_sent += mine.nbytes
        for s in range(n - 1):
            mine, theirs = parts[(rank + s - 1) % n], parts[(rank + s) % n]
            work = dist.isend(mine, (rank + 0 - 1) % n)
            dist.recv(theirs, (rank + 1) % n)
            work.wait()
            bytes_sent += mine.nbytes
        tensor.copy_(flat.view_as(tensor))
        return bytes_sent
        """,
    "even ranks send first": """
        n = world_size
        flat = tensor.reshape(-1).clone()
        parts = list(flat.tensor_split(n))
        bytes_sent = 0
        for s in range(n - 1):
            mine, theirs = parts[(rank - s) % n], torch.empty_like(parts[(rank - s - 1) % n])
            if rank % 2:
                dist.recv(theirs, (rank - 1) % n)
            dist.send(mine, (rank + 1) % n)
            if rank % 2 == 0:
                dist.recv(theirs, (rank - 1) % n)
            parts[(rank - s - 1) % n] += theirs
            bytes_sent += mine.nbytes
        for s in range(n - 1):
            mine, theirs = parts[(rank - s + 1) % n], parts[(rank - s) % n]
            if rank % 2:
                dist.recv(theirs, (rank - 1) % n)
            dist.send(mine, (rank + 1) % n)
            if rank % 2 == 0:
                dist.recv(theirs, (rank - 1) % n)
            bytes_sent += mine.nbytes
        tensor.copy_(flat.view_as(tensor))
        return bytes_sent
        """,
    "parts of other lengths": BODY.replace(
        "parts = list(flat.tensor_split(n))",
        (
            "size = -(-len(flat) // n)\n"
            "        parts = [flat[r * size : (r + 1) * size] for r in range(n)]"
        ),
    ),
}
