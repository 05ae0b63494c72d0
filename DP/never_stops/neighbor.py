"""A neighbor's memory as the checkpoint: ranks that share one copy of the model, and no disk.

    python neighbor.py           four ranks, 20 steps, rank 2 is killed in step 12
    python neighbor.py 2 3       two neighbors at once: that's one too many

Each rank holds a part of the weights and of Adam's means that nobody else holds, keeps a copy of it
every few steps, and sends one to the next rank. When a rank dies, a new one gets its part from
there, and all go back to the step of the copy.
"""

import datetime
import itertools
import sys
import time

import numpy as np
import torch
import torch.distributed as dist
from crew import Crew
from rules import State
from wire import Refused
from work import Work, on_one_device

from helpers.ranks.store import HERE, serve_store

SILENCE = datetime.timedelta(seconds=60)


class Rank:
    """One process of the training. A RuntimeError of its messages: another rank has ended.

    memory: {step: (a copy of its own part, one of the part of the rank before)}, the last two: one
        of them is complete everywhere, even if a rank dies while the ranks are copying.
    """

    def __init__(self, number, ranks, work):
        self.number, self.ranks, self.work = number, ranks, work
        self.start, self.memory, self.state = work.start(), {}, None
        ends = np.linspace(0, len(self.start), ranks + 1).astype(int)
        self.parts = [slice(*pair) for pair in itertools.pairwise(ends)]
        self.mine = self.parts[number]

    def total(self, array):
        """Return the sum of an array over all ranks."""
        dist.all_reduce(torch.from_numpy(array))
        return array

    def all_weights(self):
        full = np.zeros_like(self.start)
        full[self.mine] = self.state.weights
        return self.total(full)

    def step(self):
        ids = self.work.batch(self.number, self.state.step)
        _, tokens, gradient = self.work.gradient(self.all_weights(), ids)
        tokens_of_all = self.total(np.array([float(tokens)]))
        self.state.apply((self.total(tokens * gradient) / tokens_of_all)[self.mine], ())

    def room(self, rank):
        """Return an array for what a rank holds: its part of the weights and of Adam's means."""
        return np.empty((3, self.parts[rank].stop - self.parts[rank].start))

    def copy(self):
        """Keep a copy of the own part, send one to the next rank, and keep that of the one before.

        It counts once all have it.
        """
        before, after = (self.number - 1) % self.ranks, (self.number + 1) % self.ranks
        own = np.stack([self.state.weights, self.state.first, self.state.second])
        received = self.room(before)
        sending = dist.isend(torch.from_numpy(own), after)
        dist.recv(torch.from_numpy(received), before)
        sending.wait()
        dist.barrier()
        latest = max(self.memory, default=None)
        self.memory = {step: pair for step, pair in self.memory.items() if step == latest}
        self.memory[self.state.step] = own, received

    def restore(self):
        """Go back to the latest step of which every part is in somebody's memory.

        Raises Refused if the memory of a rank and of the next one are both gone.
        """
        held = [None] * self.ranks
        dist.all_gather_object(held, max(self.memory, default=None))
        new = [rank for rank in range(self.ranks) if held[rank] is None]
        if len(new) == self.ranks:  # nobody has a copy yet: all begin
            self.state = State.new(self.start[self.mine])
            return
        step = min(held[rank] for rank in range(self.ranks) if rank not in new)
        own = self.memory[step][0] if self.memory else self.room(self.number)
        for rank in new:
            after = (rank + 1) % self.ranks
            if after in new:
                raise Refused(
                    f"ranks {rank} and {after} have ended, and with them both copies of rank "
                    f"{rank}'s part. Start again from the last checkpoint on a disk"
                )
            part = self.memory[step][1] if self.number == after else self.room(rank)
            dist.broadcast(torch.from_numpy(own if self.number == rank else part), after)
        self.state = State(*own, step=step)

    def train(self, steps, every, at, stay):
        """Train until all steps are done; return all weights, and the step where it began."""
        self.restore()
        back = self.state.step
        while self.state.step < steps:
            if self.state.step % every == 0:
                self.copy()
            at[self.number] = self.state.step
            if self.state.step == stay:
                time.sleep(3600)
            self.step()
        return self.all_weights(), back


def run(number, ranks, port, steps, every, at, meeting=0, stay=None):
    """Be a rank in a process of its own: train, and meet again each time another rank has ended.

    port: of the store in which ranks meet. at: a shared array in which each rank says in which step
    it is. meeting: how often the others have met. stay: in which step to stay for good, so that
    this rank can be killed just there. Returns what `Rank.train` does, or the sentence that there
    is no way back.
    """
    store, rank = dist.TCPStore(HERE, port, is_master=False), Rank(number, ranks, Work(ranks))
    while True:
        meet = dist.PrefixStore(str(meeting), store)
        dist.init_process_group("gloo", store=meet, rank=number, world_size=ranks, timeout=SILENCE)
        try:
            found = rank.train(steps, every, at, stay)
            break
        except Refused as error:
            found = str(error)
            break
        except RuntimeError:  # another rank has ended
            dist.destroy_process_group()
            meeting += 1
    # One that left earlier would look as if it had died.
    store.set(f"left {number}", "")
    store.wait([f"left {each}" for each in range(ranks)], SILENCE)
    return found


def survive(ranks=4, steps=20, every=5, kill_in=12, killed=(2,)):
    """Train, kill ranks in a step, and start them again with empty memories.

    Returns the weights that each rank holds at the end, and the step to which all went back; or,
    if there is no way back, the sentence that says so, and None.
    """
    store = serve_store(HERE)
    with Crew(run, ranks, store.port, steps, every) as crew:
        at = crew.context.RawArray("i", ranks)
        for rank in range(ranks):
            crew.start(rank, at=at, stay=kill_in if rank in killed else None)
        crew.wait_for(lambda: min(at[r] for r in killed) >= kill_in, f"step {kill_in}")
        for rank in killed:
            crew.kill(rank)
        for rank in killed:
            crew.start(rank, at=at, meeting=1)
        ends = list(crew.results().values())
    if isinstance(ends[0], str):
        return ends[0], None
    (back,) = {back for _, back in ends}
    return [weights for weights, _ in ends], back


def distance(ends, steps):
    """Return the largest difference between a weight of a rank and one device's."""
    counted = [{rank: step for rank in range(len(ends))} for step in range(steps)]
    alone = on_one_device(Work(len(ends)), counted)
    return max(np.abs(end - alone).max() for end in ends)


if __name__ == "__main__":
    ends, step = survive(killed=[int(rank) for rank in sys.argv[1:]] or [2])
    if step is None:
        print(ends)
    else:
        away = distance(ends, 20)
        print(f"all went back to step {step}, and differ from one device by {away:.1g}")
