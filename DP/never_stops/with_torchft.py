"""The same with torchft: three replicas, of which one is killed and heals from a peer, on CPU.

python tools/install.py torchft      Linux, Python 3.11 to 3.13; nothing else needs it
python with_torchft.py               its words beside ours: docs/torch.md
"""

import importlib.util
import logging
import os
import sys
import time
from datetime import timedelta

import torch
from crew import Crew
from work import Work, as_array

from helpers.ranks.store import HERE, serve_store

REPLICAS, STEPS, PACE = 3, 300, 0.05


def train(number, lighthouse, at):
    """Be a replica in a process of its own; at[number] says how many replicas took part."""
    logging.disable(logging.CRITICAL)
    os.environ["TORCHFT_LIGHTHOUSE"] = lighthouse
    from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupGloo

    work = Work(REPLICAS, dtype=torch.float32)
    adam = torch.optim.Adam(work.net.parameters(), lr=3e-3)
    store = serve_store(HERE)

    def load_state_dict(state):
        work.net.load_state_dict(state["net"])
        adam.load_state_dict(state["adam"])

    manager = Manager(
        pg=ProcessGroupGloo(timeout=timedelta(seconds=5)),
        min_replica_size=2,
        state_dict=lambda: {"net": work.net.state_dict(), "adam": adam.state_dict()},
        load_state_dict=load_state_dict,
        replica_id=f"replica{number}",
        store_addr=HERE,
        store_port=store.port,
        rank=0,  # a replica could have several ranks
        world_size=1,
    )
    net, optimizer = DistributedDataParallel(manager, work.net), Optimizer(manager, adam)
    work.net = net
    while manager.current_step() < STEPS:
        optimizer.zero_grad()  # asks the lighthouse who is there, and heals this replica if needed
        loss = work.loss_of(work.batch(number, manager.current_step()))
        loss.backward()  # the mean over those present
        optimizer.step()  # if manager.should_commit()
        at[number] = manager.num_participants()
        time.sleep(PACE)
    total = as_array(net.parameters()).sum()
    told = f"step {manager.current_step()}, sum of all weights {total:.9g}"
    print(f"replica {number}: {told}", flush=True)
    time.sleep(2)  # and still there, for those that are behind
    os._exit(0)


def main():
    if not importlib.util.find_spec("torchft"):  # it has packages for Linux only
        sys.exit("torchft isn't installed: on Linux, type  python tools/install.py torchft")
    from torchft.coordination import LighthouseServer

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # it logs several lines a step
    times = {"join_timeout_ms": 200, "quorum_tick_ms": 50, "heartbeat_timeout_ms": 1000}
    lighthouse = LighthouseServer(bind="127.0.0.1:0", min_replicas=2, **times)
    with Crew(train, lighthouse.address()) as crew:
        at = crew.context.RawArray("i", REPLICAS)
        for replica in range(REPLICAS):
            crew.start(replica, at=at)
        crew.wait_for(lambda: max(at) == 3, "three replicas")
        crew.kill(1)
        crew.wait_for(lambda: at[0] == 2, "a quorum of two")
        print("replica 1 is killed, and two go on", flush=True)
        crew.start(1, at=at)
        crew.wait_for(lambda: at[0] == 3, "its return")
        print("replica 1 has healed, and three go on", flush=True)
        crew.wait_for(lambda: not crew.alive(), "the end")
        crew.check()
    lighthouse.shutdown()


if __name__ == "__main__":
    main()
