"""Explain a hang: which rank waits for which at what line, why, and what to change.

    the_monitor().begin(rank)          in each rank: record every call of torch.distributed
    the_monitor().check(store)         checked mode: refuse a call that doesn't fit before it starts
    GlobalSnapshot(standings, ended)   where all ranks stand, as the launcher collects it
    diagnose(snapshot)                 the diagnosis: one sentence, the cure, who waits for whom

Files, from the ground up:

    places, operation, log     a line of code, one call, all calls of a rank: plain facts
    calls, flight, threads     what a call asks for; what C++ has started; what a thread is doing
    monitor                    wraps torch.distributed and answers where the rank stands
    direct                     the same for a call of a group's own methods
    match, wait_for_graph      do operations fit; who waits for whom, and which wait can never end
    cases, diagnosis           what went wrong and the cure; the whole answer
    notes, checked_mode        notes in the store; compare operations before they start
    deferred                   what checked mode hands out while an operation has not begun

Only what works inside a rank imports torch.

A verdict is certain only if nothing can still act: a rank is judged by its main thread, or by the
one thread that all its others wait for, and it has finished once Python would end its process. What
can't be known isn't judged before the time is up: a main thread in foreign code (a file, a remote
call), and a poll or a join where the program handles signals, since a handler may send. The
timeout of a whole group (timeout=… of init_process_group or new_group) is there to end a program
that hangs, so it doesn't count as something that can still act.

Known limits. gloo loses a message whose Work from isend is dropped, and a rank keeps the last
MOST_KEPT of them alive only to be able to tell: keep each Work and wait for it. gloo completes the
Work of a message in wait() alone, so a loop that asks is_completed() of one never ends. Unchecked,
ranks that create a group with different members are told only if one of them then waits.
"""
