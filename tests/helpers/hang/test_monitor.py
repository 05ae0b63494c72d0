"""What the watch of a rank knows of the program's own operations."""

from helpers.ranks import launch


def leave_one():
    import torch
    import torch.distributed as dist

    from helpers.hang.monitor import the_monitor

    if dist.get_rank() == 1:
        for _ in range(3):
            dist.recv(torch.empty(2), 0)
        return []
    dist.isend(torch.ones(2), 1).wait()
    dist.send(torch.ones(2), 1)
    dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.ones(2), 1)])
    left = [(operation.name, operation.peer) for operation in the_monitor().not_waited_for()]
    for work in list(the_monitor()._kept.values()):
        work.wait()
    return [left, the_monitor().not_waited_for()]


def test_a_message_that_nobody_waits_for_is_known():
    assert launch(leave_one, 2, quiet=True)[0] == [[("isend", 1)], []]
