"""Run one job on several ranks: hand it out, follow the news, and leave nothing behind."""

import os
import pickle
import queue
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from helpers.ranks.environment import free_port
from helpers.ranks.failure import (
    Failure,
    LaunchReport,
    RankState,
    first_failure,
    only_echoes,
    stopped,
    unreadable,
)
from helpers.ranks.output import Output
from helpers.ranks.pool import RankProcess, in_notebook, rank_defaults, the_pool
from helpers.ranks.protocol import Call, News, RankContext, Script
from helpers.ranks.store import HERE, Place

EXIT_S = 5.0  # how long a finished rank may take to exit
START_S = 120.0  # how long interpreters may take to start
GRACE_S = 0.3  # after the first failure: time for the other ranks to report theirs
CAUSE_S = 4.0  # after the mere echo of a failure: time for its cause to arrive
ASK_S = 0.5  # how often the ranks are asked where they stand
STALL_S = 2.0  # how long nothing may move before we look for a deadlock
STALL_ROUNDS = 3  # and how often all ranks must have answered since: machines get suspended
ANSWER_S = 1.0  # how long a rank may take to say where it stands


def run_job(
    job: Call | Script,
    ranks: int,
    context: RankContext,
    write: Callable[[str], object] | None,
) -> LaunchReport:
    """Start the processes, hand each the job, follow them to the end, and leave nothing behind."""
    not_inside_a_rank()
    begun = time.monotonic()
    news: queue.Queue[News] = queue.Queue(
        maxsize=256
    )  # a flood of text blocks the rank that prints it
    pool = the_pool()
    taken = pool.take(ranks, news)
    run = Supervisor(job, context, taken, news, Output(ranks, write))
    try:
        run.processes[0].order(kind="serve")
        failure = run.follow()
    finally:
        run.end()
        if in_notebook():
            pool.size = max(pool.size, ranks)
        pool.refill()
    results = [None] * ranks
    if failure is None:
        results, failure = _unpack(run.states)
    return LaunchReport(results, failure, run.output.texts, time.monotonic() - begun)


def _unpack(states: list[RankState]) -> tuple[list[Any], Failure | None]:
    """Unpickle the results of all ranks; this runs the program's code, which may fail."""
    results = []
    for state in states:
        try:
            results.append(pickle.loads(state.result))
        except (Exception, SystemExit) as error:
            return [None] * len(states), unreadable(state.rank, error)
    return results, None


class Supervisor:
    """Follow one job on its ranks, and end them."""

    def __init__(
        self,
        job: Call | Script,
        context: RankContext,
        processes: list[RankProcess],
        news: queue.Queue[News],
        output: Output,
    ):
        self.job, self.context, self.processes = job, context, processes
        self.news, self.output = news, output
        self.states = [RankState(process.rank) for process in processes]
        self._limit = time.monotonic() + START_S
        self._late = False  # the time is up: the ranks were asked for the last time
        self._round = 0  # how often the ranks were asked where they stand
        self._answers: set[int] = set()  # the ranks that have answered in this round
        self._ask_at = float("inf")  # when to ask next: not before all ranks run
        self._ask_anew = 0.0  # when to ask again, even if not all have answered
        self._stall = StallDetector()

    def follow(self) -> Failure | None:
        """Handle the news until all ranks have finished, one has failed, or the time is up."""
        while not all(s.finished for s in self.states):
            now = time.monotonic()
            try:
                item = self.news.get(timeout=max(0.0, min(self._limit, self._ask_at) - now))
            except queue.Empty:
                if any(s.failed for s in self.states):
                    return first_failure(self.states)
                if self._late:
                    return self._stopped(self.context.timeout)[0]
                now = time.monotonic()
                late = now >= self._limit
                if late or now >= self._ask_anew or self._answers >= self._alive():
                    self._ask()
                else:  # a busy machine: an answer to the last question may still come
                    self._ask_at = now + ASK_S
                if late:
                    self._late, self._limit = True, time.monotonic() + ANSWER_S
                    self._ask_at = float("inf")
                continue
            self._take(item)
            if any(s.failed for s in self.states):
                continue
            if self._answers >= self._alive():
                if self._late and self._answers:
                    return self._stopped(self.context.timeout)[0]
                if self._stall.proven(self.states, self._round):
                    failure, certain = self._stopped(None)
                    if certain:
                        return failure
        return None

    def end(self) -> None:
        """End every process: ask if all have finished, kill otherwise."""
        well = all(s.finished for s in self.states)
        for process in reversed(self.processes):  # rank 0 last: it serves the others' store
            if well:
                process.order(kind="exit")
            else:
                process.send_kill()
        deadline = time.monotonic() + EXIT_S
        running = {s.rank for s in self.states if s.status is None}
        while running:
            try:
                item = self.news.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                for process in self.processes:  # one that is stopped, say, by a debugger
                    process.kill()
                deadline = time.monotonic() + EXIT_S
                continue
            self._note(item)
            if item.kind == "ended":
                running.discard(item.rank)
        for process in self.processes:
            process.kill()  # processes that the rank started and left behind
            process.close()
            self.output.add(process.rank, b"", final=True)

    def _take(self, item: News) -> None:
        """Handle one piece of news and adjust the time limits to it."""
        before = [(s.failed, s.running, s.finished) for s in self.states]
        self._note(item)
        if item.kind == "message" and item.value["kind"] == "port":
            self._give_out(item.value["port"])
        if item.kind == "message" and item.value["kind"] == "where":
            if item.value["round"] == self._round:
                self._answers.add(item.rank)
        if [(s.failed, s.running, s.finished) for s in self.states] == before:
            return
        now = time.monotonic()
        if any(s.failed for s in self.states):
            grace = CAUSE_S if only_echoes(self.states) else GRACE_S
            self._limit, self._ask_at = min(self._limit, now + grace), float("inf")
        elif all(s.running for s in self.states) and not all(running for _, running, _ in before):
            # The time-out starts with the last rank.
            self._limit, self._ask_at = now + self.context.timeout, now + ASK_S

    def _note(self, item: News) -> None:
        """Record one piece of news in the states and on the screen."""
        state = self.states[item.rank]
        if item.kind == "text":
            self.output.add(item.rank, item.value)
        elif item.kind == "ended":
            state.status = item.value
        elif item.value["kind"] == "result":
            state.result = item.value["value"]
        elif item.value["kind"] == "error" and state.error is None:
            state.error = item.value
        elif item.value["kind"] == "running":
            state.running = True
        elif item.value["kind"] == "where":
            state.standing = item.value["standing"]

    def _ask(self) -> None:
        """Ask every rank where it stands, even a finished one, whose threads may go on."""
        self._round, self._answers = self._round + 1, set()
        self._ask_at, self._ask_anew = time.monotonic() + ASK_S, time.monotonic() + ANSWER_S
        for process in self.processes:
            process.order(kind="where", round=self._round)

    def _alive(self) -> set[int]:
        return {s.rank for s in self.states if s.status is None}

    def _stopped(self, after: float | None) -> tuple[Failure, bool]:
        for state in self.states:
            if state.rank not in self._answers:
                state.standing = None  # its last answer may be out of date
        return stopped(self.states, after)

    def _give_out(self, port: int) -> None:
        """Hand each rank its place and the job, now that the store is served."""
        master_port, ranks = free_port(), len(self.processes)
        for process in self.processes:
            rank = process.rank
            place = Place(rank, ranks, rank, ranks, HERE, master_port, "helpers.ranks")
            environment = _variables(place, port)
            environment["LAB_CHECKED"] = str(int(self.context.checked))
            context = replace(self.context, place=place, environment=environment)
            process.order(kind="job", job=self.job, context=context)


class StallDetector:
    """Detect that no rank has moved for a while."""

    def __init__(self):
        self._facts: object = None
        self._time, self._rounds = 0.0, set()

    def proven(self, states: list[RankState], number: int) -> bool:
        """Return whether every rank has long been where it is now.

        Args:
            number: the round of questions that all ranks have just answered.
        """
        facts = [(s.finished, s.standing and s.standing.moved) for s in states]
        if facts != self._facts:
            self._facts, self._time, self._rounds = facts, time.monotonic(), set()
        self._rounds.add(number)
        return time.monotonic() - self._time > STALL_S and len(self._rounds) > STALL_ROUNDS


def _variables(place: Place, store_port: int) -> dict[str, str]:
    """Return the environment of a rank: ours, and the variables that tell its program its place."""
    facts = (
        rank_defaults()
        | os.environ
        | {  # the rank may have been started before a variable was set
            "LAB_RANK": place.rank,
            "LAB_WORLD_SIZE": place.world_size,
            "LAB_STORE_PORT": store_port,
            # What torch's own init_process_group reads, for scripts that call it themselves.
            "RANK": place.rank,
            "WORLD_SIZE": place.world_size,
            "LOCAL_RANK": place.local_rank,
            "LOCAL_WORLD_SIZE": place.local_world_size,
            "MASTER_ADDR": place.address,
            "MASTER_PORT": place.port,
        }
    )
    return {name: str(value) for name, value in facts.items()}


def not_inside_a_rank() -> None:
    """Raise RuntimeError if this process is a rank itself."""
    if "LAB_RANK" in os.environ:
        raise RuntimeError(
            f"this code runs inside rank {os.environ['LAB_RANK']} already, and a rank cannot start "
            "ranks: call launch() or %%ranks from the notebook, outside of the function"
        )
