"""Run one job on several ranks: hand it out, follow the news, and leave nothing behind."""

import math
import os
import pickle
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import wait
from typing import Any

from helpers.hang.verdict import Snapshot
from helpers.ranks import pool
from helpers.ranks.failure import Failure, LaunchReport, first_failure
from helpers.ranks.job import Job
from helpers.ranks.output import Output
from helpers.ranks.store import HERE, Place
from helpers.words import say_seconds, text_of

START_S = 120.0  # how long interpreters may take to start
EXIT_S = 5.0  # how long a finished rank may take to exit
GRACE_S = 0.3  # after the first failure: time for the other ranks to report theirs
CAUSE_S = 4.0  # after the mere echo of a failure: time for its cause to arrive
ASK_S = 0.5  # how often the ranks are asked where they stand
STALL_S = 2.0  # how long nothing may move before we look for a deadlock
STALL_ROUNDS = 4  # and how often all ranks must have answered since: machines get suspended
ANSWER_S = 1.0  # how long a rank may take to say where it stands
NOTE_S = 10.0  # after this long without a move, and without a verdict, the rows are shown


def run_job(job: Job, ranks: int, write: Callable[[str], object] | None) -> LaunchReport:
    """Start the processes, hand each the job, follow them to the end, and leave nothing behind."""
    if "LAB_RANK" in os.environ:
        raise RuntimeError(
            f"this code runs inside rank {os.environ['LAB_RANK']} already, and a rank cannot start "
            "ranks: call launch() or %%ranks from the notebook, outside of the function"
        )
    begun = time.monotonic()
    run = Run(job, pool.take(ranks), write)
    try:
        failure = run.follow()
    except KeyboardInterrupt as error:
        stood = f"interrupted: every rank was stopped. Where each stood:\n{run.asked().rows()}"
        error.args = (stood,)
        error._render_traceback_ = lambda: [f"KeyboardInterrupt: {stood}"]  # none of our frames
        raise
    finally:
        run.end()
        if pool.in_notebook():
            pool.keep_warm(ranks)
        pool.rest_later()
    results: list[Any] = []
    for rank in run.ranks if failure is None else ():
        try:
            results.append(pickle.loads(rank.result))  # runs the program's code, which may fail
        except (Exception, SystemExit) as error:
            what = ": ".join(filter(None, (type(error).__name__, text_of(error))))
            sentence = (
                f"the result of rank {rank.number} came back, but can't be unpickled here "
                f"({what}): return numbers, text, lists or tensors"
            )
            trace = "".join(traceback.format_exception(error))
            failure = Failure(rank.number, sentence, traceback=trace)
            break
    results = [None] * ranks if failure else results
    return LaunchReport(results, failure, run.output.texts, time.monotonic() - begun)


class Run:
    """One job on its ranks, in one thread: `_listen` waits for any news."""

    def __init__(self, job: Job, ranks: list[pool.RankProcess], write):
        self.job, self.ranks, self.write = job, ranks, write
        self.output = Output(len(ranks), write)
        self._sources: dict[Any, tuple[pool.RankProcess, Callable]] = {}
        for number, rank in enumerate(ranks):
            rank.number = number
            self._sources[rank.control] = (rank, self._read_control)
            self._sources[rank.text] = (rank, self._read_text)
            self._sources[rank.process.sentinel] = (rank, self._read_end)
        self._round, self._answers = 0, {}  # of the questions where the ranks stand
        self._moved, self._since, self._rounds, self._noted = None, 0.0, 0, False

    def follow(self) -> Failure | None:
        """Return how the job failed, or None once all ranks have finished."""
        count, port = len(self.ranks), self.ranks[0].port
        for rank in self.ranks:
            place = Place(rank.number, count, rank.number, count, HERE, port, "helpers.ranks")
            environment = rank_variables(place, self.job.checked)
            rank.tell("job", replace(self.job, place=place, environment=environment))
        limit, ask, running = time.monotonic() + START_S, math.inf, False
        while not all(each.finished for each in self.ranks):
            self._listen(min(limit, ask) - time.monotonic())
            now, answered = time.monotonic(), self._answered()
            if failed := [each for each in self.ranks if each.failed]:
                # Cause enough for an echo is a partner that has gone because it has finished.
                echoes = all(each.error and each.error.echo for each in failed)
                echoes = echoes and not any(each.finished for each in self.ranks)
                ask, limit = math.inf, min(limit, now + (CAUSE_S if echoes else GRACE_S))
                if now >= limit or all(each.failed or each.finished for each in self.ranks):
                    return first_failure(self.ranks)
            elif not running and all(each.running for each in self.ranks):
                running, limit, ask = True, now + self.job.timeout, now
            elif now >= limit:
                found = self.asked()
                well = all(each.finished for each in self.ranks)  # just in time
                if not well and not any(each.failed for each in self.ranks):
                    return _failure(found, say_seconds(self.job.timeout))
            elif now >= ask and self._round and not answered:
                # A busy machine, or a rank whose C code keeps Python's lock. It isn't asked again:
                # who doesn't read is no one to write to.
                if now > ask + NOTE_S:
                    self._note(self._snapshot())
                self._listen(0.05)
            elif now >= ask:
                if self._round and (failure := self._judge()):
                    return failure
                self._ask()
                ask = now + ASK_S
        return None

    def end(self) -> None:
        """End every process: ask if all have finished, kill otherwise."""
        well = all(each.finished for each in self.ranks)
        for rank in reversed(self.ranks):  # rank 0 last: it serves the others' store
            rank.tell("exit") if well else rank.kill()
        deadline = time.monotonic() + EXIT_S
        while any(each.status is None for each in self.ranks) and time.monotonic() < deadline:
            self._listen(deadline - time.monotonic())
        for rank in self.ranks:
            rank.close()  # kills what the rank has started and left behind
            self.output.add(rank.number, b"", final=True)

    # --- news ------------------------------------------------------------------------------------

    def _listen(self, seconds: float) -> None:
        """Handle what has arrived, or arrives within so many seconds; of a rank, its end last."""
        ready = wait(list(self._sources), max(0.0, seconds))
        for source in sorted(ready, key=lambda source: isinstance(source, int)):
            rank, read = self._sources[source]
            if not read(rank):
                self._sources.pop(source, None)

    def _read_text(self, rank: pool.RankProcess) -> bool:
        data = rank.read_text()
        self.output.add(rank.number, data)
        return bool(data)

    def _read_control(self, rank: pool.RankProcess) -> bool:
        try:
            kind, value = rank.control.recv()
        except (EOFError, OSError):
            return False
        if kind != "where":  # "running", "result" or "error"
            setattr(rank, kind, value)
        elif value[0] == self._round:
            self._answers[rank.number] = value[1]
        return True

    def _read_end(self, rank: pool.RankProcess) -> bool:
        while rank.control.poll() and self._read_control(rank):
            pass  # its last words come before its end
        while wait([rank.text], 0) and self._read_text(rank):
            pass
        rank.process.join()
        rank.status = rank.process.exitcode
        return False

    # --- where the ranks stand -------------------------------------------------------------------

    def _ask(self) -> None:
        """Ask every rank where it stands, even a finished one, whose threads may go on."""
        self._round, self._answers = self._round + 1, {}
        for rank in self.ranks:
            rank.tell("where", self._round)

    def _answered(self) -> bool:
        """Return whether every rank that hasn't ended has answered the last question."""
        return self._answers.keys() >= {each.number for each in self.ranks if each.status is None}

    def asked(self) -> Snapshot:
        """Ask every rank where it stands, and return the answers that come in time."""
        self._ask()
        end = time.monotonic() + ANSWER_S
        while not self._answered() and time.monotonic() < end:
            self._listen(end - time.monotonic())
        return self._snapshot()

    def _snapshot(self) -> Snapshot:
        ended = {each.number for each in self.ranks if each.finished}
        silent = {each.number for each in self.ranks} - set(self._answers) - ended
        return Snapshot(list(self._answers.values()), ended, silent)

    def _judge(self) -> Failure | None:
        """Return the deadlock in which all ranks have been for a while, or None."""
        moved = [r.finished for r in self.ranks], {n: a.moved for n, a in self._answers.items()}
        now = time.monotonic()
        if moved != self._moved:
            self._moved, self._since, self._rounds, self._noted = moved, now, 0, False
        self._rounds += 1
        if now - self._since < STALL_S or self._rounds < STALL_ROUNDS:
            return None
        found = self._snapshot()
        if found.certain:
            return _failure(found)
        stuck = found.misfit or found.deadlock or len(found.sure) < len(found.known)
        if stuck and now - self._since > NOTE_S:
            self._note(found)
        return None

    def _note(self, found: Snapshot) -> None:
        """Say where each rank stands, once until something moves."""
        if not self._noted and self.write:
            self._noted = True
            still = f"nothing has moved for {NOTE_S:.0f} s. Where each rank stands:"
            self.write(f"[ranks] {still}\n{found.rows()}\n")


def _failure(found: Snapshot, seconds: str = "") -> Failure:
    """Return the failure of ranks that wait. seconds: how long they were allowed to."""
    sentence, cure = found.told
    if seconds:
        sentence = f"the ranks did not finish within {seconds}, and were stopped: {sentence}"
    waiting = tuple((op.rank, op.name, op.peer) for op in found.waiting.values())
    return Failure(None, sentence, found.details, waits=found.graph, waiting=waiting, cure=cure)


def rank_variables(place: Place, checked: bool) -> dict[str, str]:
    """Return the environment of a rank: ours, and the variables that tell its program its place."""
    facts = {
        "LAB_RANK": place.rank,
        "LAB_CHECKED": int(checked),
        # What torch's own init_process_group reads, for scripts that call it themselves.
        "RANK": place.rank,
        "WORLD_SIZE": place.world_size,
        "LOCAL_RANK": place.local_rank,
        "LOCAL_WORLD_SIZE": place.local_world_size,
        "MASTER_ADDR": place.address,
        "MASTER_PORT": place.port,
        "TORCHELASTIC_USE_AGENT_STORE": "True",  # rank 0 serves a store already: RPC joins it
    }
    return pool.rank_defaults() | os.environ | {name: str(value) for name, value in facts.items()}
