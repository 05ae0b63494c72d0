"""Explain a hang: which rank waits for which at what line, why, and what to change.

    the_monitor().begin(rank)           in each rank: record every call of torch.distributed
    the_monitor().check = Check(store)  checked mode: refuse a call that doesn't fit, in time
    Snapshot(standings, ended)          where all ranks stand, as the launcher collects it
    Snapshot(…).certain, .told, .graph  is it a deadlock, what happened and the cure, the picture

A verdict needs proof. While another thread, a callback, a remote call or a wait's own time limit
could still act there is none, and a launch says after ten seconds where each rank stands. The
timeout of a whole group (timeout=… of init_process_group or new_group) is there to end a program
that hangs, so it doesn't count as something that can still act.

Known limits. gloo loses a message whose Work from isend is dropped, and a rank keeps the last
MOST_OPEN of them alive only to be able to tell: keep each Work and wait for it. gloo completes the
Work of a message in wait() alone, so a loop that asks is_completed() of one never ends. In checked
mode whoever comes second is refused: the other one is inside the operation already, so no program
can catch a `Mismatch` on all its ranks and go on.
"""
