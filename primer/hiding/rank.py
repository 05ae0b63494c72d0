"""A rank has a core that computes and a link that carries messages, and each does one thing at a
time.

`Rank` is a real one: it computes, sleeps until its time is over, and sends by torch.distributed.
`Paper` is one on paper: its clock moves by the seconds that it's told, and nothing is sent. What is
written for one runs on the other, so a prediction is a run on paper.
"""

import time

import torch.distributed as dist

from helpers.trace import Event, Recorder, Trace

PROMPT = 0.0005  # seconds: a rank that begins so soon after its last work hasn't waited


class Rank:
    """This process. paced: whether computing takes as long as it's told, and is recorded."""

    def __init__(self, paced=False):
        self.number, self.size = dist.get_rank(), dist.get_world_size()
        self.paced, self.recorder = paced, Recorder(self.number, enabled=paced)
        self.due = self.free = 0.0  # when the core's last work was due to end; the link's last end

    def compute(self, seconds, function, *inputs, kind="F", **info):
        """Return what the function makes of the inputs, after so many seconds.

        A sleep ends late: work that didn't have to wait counts from when the last was due to end.
        """
        begun = self.recorder.now()
        start = self.due if begun - self.due < PROMPT else begun
        found = function(*inputs)
        if self.paced:
            self.due = start + seconds
            time.sleep(max(0.0, self.due - self.recorder.now()))
        self.recorder.add(kind, begun, self.recorder.now(), **info)
        return found

    def send(self, size, post, like=None, kind="send"):
        """Start a message of `size` bytes, and return a function that waits for what arrives.

        post: starts it, and returns works and the tensor it receives. like: what paper receives.
        """
        begun = self.recorder.now()
        works, arriving = post()
        if self.paced:  # on a slow link, whose works know when they end
            works[-1].get_future().then(lambda _: self.note(kind, begun, size))

        def arrived():
            for work in works:
                work.wait()
            return arriving

        return arrived

    def note(self, kind, begun, size):
        """Record a message that has arrived: the link carries one at a time."""
        begun, self.free = max(begun, self.free), self.recorder.now()
        self.recorder.add(kind, begun, self.free, bytes=size)

    def trace(self):
        return self.recorder.trace()


class Paper:
    """One of `size` equal ranks, on paper. link: its `Link`."""

    def __init__(self, link, size=4):
        self.link, self.number, self.size = link, 0, size
        self.now = self.free = 0.0  # of the core, and when the link will be
        self.events = []

    def compute(self, seconds, function, *inputs, kind="F", **info):
        self.events.append(Event(0, kind, self.now, self.now + seconds, info=info))
        self.now += seconds
        return function(*inputs)

    def send(self, size, post, like=None, kind="send"):
        begun = max(self.now, self.free)
        self.free = end = begun + self.link.seconds(size)
        self.events.append(Event(0, kind, begun, end, info={"bytes": size}))

        def arrived():
            self.now = max(self.now, end)
            return like

        return arrived

    def trace(self):
        return Trace(self.events)


def hidden(trace):
    """Return the share of the messages' time during which the core computed."""
    messages = sum(e.duration for e in trace.events if e.lane == "communication")
    computing = sum(e.duration for e in trace.events if e.lane == "compute")
    return (computing + messages - trace.duration) / messages
