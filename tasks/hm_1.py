"""HM-1: products whose factors and sums travel while others are multiplied."""

import torch
import torch.distributed as dist

HINTS = (
    "Write down for three ranks whose rows each of them has in steps 0, 1 and 2, if everybody "
    "passes on what it has. For the sums: in which step must the rows of rank 2 be multiplied on "
    "rank 0, if they go on to rank 1 and then to rank 2?",
    "Start a message, multiply, then wait. In step t a rank has the rows of rank (number - t) % "
    "size: gathered passes x on unless it's the last step, puts product(x, w) where its rows "
    "belong, and takes x = arrived(). scattered multiplies the rows for rank (number - t - 1) % "
    "size; from the second step on it adds arrived(), and passes total on but at the end.",
)
LESSON, MINUTES, RANKS = "hiding_messages", 20, 3


class Noting:
    """A ring that notes how many products were computed while each message traveled."""

    def __init__(self):
        self.number, self.size = dist.get_rank(), dist.get_world_size()
        self.products, self.beside = 0, []

    def pass_on(self, x):
        x, begun = x.detach().clone(), self.products
        found = torch.empty_like(x)
        after, before = (self.number + 1) % self.size, (self.number - 1) % self.size
        ends = [dist.P2POp(dist.isend, x, after), dist.P2POp(dist.irecv, found, before)]
        works = dist.batch_isend_irecv(ends)

        def arrived():
            for work in works:
                work.wait()
            self.beside.append(self.products - begun)
            return found

        return arrived

    def product(self, a, b):
        self.products += 1
        return a @ b


def observe(module, case):
    rank, seen = dist.get_rank(), {}
    for name in ("gathered", "scattered"):
        ring = Noting()
        work = getattr(module, f"{name}_product")
        seen[name] = work(case[name][rank].clone(), case["weights"][rank].clone(), ring).clone()
        seen[f"products beside each message, {name}"] = ring.beside
        seen[f"products, {name}"] = ring.products
    return seen


def cases():
    s, d, f = torch.randint(2, 6, (3,)).tolist()

    def some(*shape):
        return [torch.randint(-9, 10, shape).double() for _ in range(RANKS)]

    return [{"gathered": some(s, d), "scattered": some(s * RANKS, d), "weights": some(d, f)}]


PLACE, SUM = "(ring.number - step) % ring.size", "rows[(ring.number - step - 1) % ring.size]"
ADD, AT_ONCE = "total = total + arrived()", "there = {}\narrived = lambda there=there(): there"
MUTANTS = {
    ("arrived = ring.pass_on(x)", AT_ONCE.format("ring.pass_on(x)")): "gathered: each message is "
    "awaited before the product that could have hidden it: start it, multiply, then wait",
    (PLACE, "step"): "gathered: the rows of the result are in the order in which they arrived, and "
    "not in that of their ranks",
    (PLACE, "(ring.number + step) % ring.size"): "gathered: the rows of two ranks have changed "
    "places: in step t a rank has those of rank (number - t) modulo size",
    ("x = arrived()", "arrived()"): "gathered: every step multiplies this rank's own rows: what "
    "arrives is the next factor",
    ("arrived = ring.pass_on(total)", AT_ONCE.format("ring.pass_on(total)")): "scattered: each sum "
    "is awaited before the product that could have hidden it: multiply first, then wait and add",
    (SUM, "rows[(ring.number - step) % ring.size]"): "scattered: a rank begins with its own rows, "
    "so the sums end at the rank before: begin with the rows that have the longest way",
    (ADD, "arrived()"): "scattered: what arrives isn't added, so the last product is all that is "
    "left",
    (ADD, "total = arrived()"): "scattered: each sum lacks this rank's own product: add it to what "
    "arrived",
}
