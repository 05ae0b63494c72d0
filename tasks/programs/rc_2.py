"""RC-2: wrong and right work, as programs."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "nobody waits for the send",
        """
        import sys
        way = sys._getframe().f_code.co_name
        if way == 'exchange_in_order':
            theirs = torch.zeros_like(mine)
            steps = [lambda: dist.send(mine, right), lambda: dist.recv(theirs, left)]
            for step in steps if rank % 2 == 0 else reversed(steps):
                step()
            return theirs
        if way == 'exchange_without_waiting':
            theirs = torch.zeros_like(mine)
            sending = dist.isend(mine, right)
            dist.recv(theirs, left)
            return theirs
        if way == 'exchange_in_a_batch':
            theirs = torch.zeros_like(mine)
            pair = (dist.irecv, theirs, left), (dist.isend, mine, right)
            for message in dist.batch_isend_irecv([dist.P2POp(*one) for one in pair]):
                message.wait()
            return theirs
        """,
        says="starts isend and never calls wait() on its result",
    ),
    Program(
        "the deadlock stays",
        """
        import sys
        way = sys._getframe().f_code.co_name
        if way == 'exchange_in_order':
            theirs = torch.zeros_like(mine)
            dist.send(mine, right)
            dist.recv(theirs, left)
            return theirs
        if way == 'exchange_without_waiting':
            theirs = torch.zeros_like(mine)
            sending = dist.isend(mine, right)
            dist.recv(theirs, left)
            sending.wait()
            return theirs
        if way == 'exchange_in_a_batch':
            theirs = torch.zeros_like(mine)
            pair = (dist.irecv, theirs, left), (dist.isend, mine, right)
            for message in dist.batch_isend_irecv([dist.P2POp(*one) for one in pair]):
                message.wait()
            return theirs
        """,
        says="deadlock: a ring of sends. Ranks 0, 1, 2 and 3 all send first",
        alone=True,
    ),
    Program(
        "all receive first",
        """
        import sys
        way = sys._getframe().f_code.co_name
        if way == 'exchange_in_order':
            theirs = torch.zeros_like(mine)
            dist.recv(theirs, left)
            dist.send(mine, right)
            return theirs
        if way == 'exchange_without_waiting':
            theirs = torch.zeros_like(mine)
            sending = dist.isend(mine, right)
            dist.recv(theirs, left)
            sending.wait()
            return theirs
        if way == 'exchange_in_a_batch':
            theirs = torch.zeros_like(mine)
            pair = (dist.irecv, theirs, left), (dist.isend, mine, right)
            for message in dist.batch_isend_irecv([dist.P2POp(*one) for one in pair]):
                message.wait()
            return theirs
        """,
        says="all receive first",
        alone=True,
    ),
    Program(
        "waits before it receives",
        """
        import sys
        way = sys._getframe().f_code.co_name
        if way == 'exchange_in_order':
            theirs = torch.zeros_like(mine)
            steps = [lambda: dist.send(mine, right), lambda: dist.recv(theirs, left)]
            for step in steps if rank % 2 == 0 else reversed(steps):
                step()
            return theirs
        if way == 'exchange_without_waiting':
            theirs = torch.zeros_like(mine)
            dist.isend(mine, right).wait()
            dist.recv(theirs, left)
            return theirs
        if way == 'exchange_in_a_batch':
            theirs = torch.zeros_like(mine)
            pair = (dist.irecv, theirs, left), (dist.isend, mine, right)
            for message in dist.batch_isend_irecv([dist.P2POp(*one) for one in pair]):
                message.wait()
            return theirs
        """,
        says="deadlock: a ring of sends. Ranks 0, 1, 2 and 3 all send first",
        alone=True,
    ),
    Program(
        "good for four ranks only",
        """
        import sys
        way = sys._getframe().f_code.co_name
        if way == 'exchange_in_order':
            theirs = torch.zeros_like(mine)
            steps = [lambda: dist.send(mine, right), lambda: dist.recv(theirs, left)]
            for step in steps if rank in (0, 2) or world_size == 3 else reversed(steps):
                step()
            return theirs
        if way == 'exchange_without_waiting':
            theirs = torch.zeros_like(mine)
            sending = dist.isend(mine, right)
            dist.recv(theirs, left)
            sending.wait()
            return theirs
        if way == 'exchange_in_a_batch':
            theirs = torch.zeros_like(mine)
            pair = (dist.irecv, theirs, left), (dist.isend, mine, right)
            for message in dist.batch_isend_irecv([dist.P2POp(*one) for one in pair]):
                message.wait()
            return theirs
        """,
        says="deadlock: a ring of sends. Ranks 0, 1 and 2 all send first",
        alone=True,
    ),
)

RIGHT = {
    "only rank 0 receives first": """
        import sys
        way = sys._getframe().f_code.co_name
        if way == 'exchange_in_order':
            theirs = torch.zeros_like(mine)
            steps = [lambda: dist.send(mine, right), lambda: dist.recv(theirs, left)]
            for step in steps if rank else reversed(steps):
                step()
            return theirs
        if way == 'exchange_without_waiting':
            theirs = torch.zeros_like(mine)
            sending = dist.isend(mine, right)
            dist.recv(theirs, left)
            sending.wait()
            return theirs
        if way == 'exchange_in_a_batch':
            theirs = torch.zeros_like(mine)
            pair = (dist.irecv, theirs, left), (dist.isend, mine, right)
            for message in dist.batch_isend_irecv([dist.P2POp(*one) for one in pair]):
                message.wait()
            return theirs
        """,
    "irecv, then send": """
        import sys
        way = sys._getframe().f_code.co_name
        if way == 'exchange_in_order':
            theirs = torch.zeros_like(mine)
            steps = [lambda: dist.send(mine, right), lambda: dist.recv(theirs, left)]
            for step in steps if rank % 2 == 0 else reversed(steps):
                step()
            return theirs
        if way == 'exchange_without_waiting':
            theirs = torch.zeros_like(mine)
            message = dist.irecv(theirs, left)
            dist.send(mine, right)
            message.wait()
            return theirs
        if way == 'exchange_in_a_batch':
            theirs = torch.zeros_like(mine)
            pair = (dist.irecv, theirs, left), (dist.isend, mine, right)
            for message in dist.batch_isend_irecv([dist.P2POp(*one) for one in pair]):
                message.wait()
            return theirs
        """,
    "both are started": """
        import sys
        way = sys._getframe().f_code.co_name
        if way == 'exchange_in_order':
            theirs = torch.zeros_like(mine)
            steps = [lambda: dist.send(mine, right), lambda: dist.recv(theirs, left)]
            for step in steps if rank % 2 == 0 else reversed(steps):
                step()
            return theirs
        if way == 'exchange_without_waiting':
            theirs = torch.zeros_like(mine)
            messages = [dist.irecv(theirs, src=left), dist.isend(mine, dst=right)]
            for message in messages:
                message.wait()
            return theirs
        if way == 'exchange_in_a_batch':
            theirs = torch.zeros_like(mine)
            pair = (dist.irecv, theirs, left), (dist.isend, mine, right)
            for message in dist.batch_isend_irecv([dist.P2POp(*one) for one in pair]):
                message.wait()
            return theirs
        """,
}
