"""Processes that can be killed, frozen and started again, and of which nothing stays behind."""

import multiprocessing
import os
import signal
import time
import traceback
from contextlib import suppress


def context():
    """Return where processes come from: forked in milliseconds from a server that has torch."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["numpy", "torch", "simplellm.options", "simplellm.losses"])
    return found


def tell(pipe, program, number, *arguments, **more):
    """Run a program, and send what it returns, or what it fails with."""
    try:
        pipe.send((True, program(number, *arguments, **more)))
    except Exception:
        pipe.send((False, traceback.format_exc()))


class Crew:
    """Numbered processes that run `program(number, *arguments)`; to be used in a `with`."""

    def __init__(self, program, *arguments):
        self.context, self.processes, self.pipes, self.told = context(), {}, {}, {}
        self.call = program, arguments

    def start(self, number, **more):
        """Start a process, also in the place of one that has ended. more: further arguments."""
        program, arguments = self.call
        self.pipes[number], theirs = self.context.Pipe(duplex=False)
        call = {"args": (theirs, program, number, *arguments), "kwargs": more}
        self.processes[number] = self.context.Process(target=tell, **call, daemon=True)
        self.processes[number].start()
        theirs.close()

    def kill(self, number):
        """End a process without a warning, and wait until it's gone."""
        self.processes[number].kill()
        self.processes[number].join()

    def freeze(self, number):
        """Stop a process where it is: its memory and its connections stay."""
        os.kill(self.processes[number].pid, signal.SIGSTOP)

    def thaw(self, number):
        os.kill(self.processes[number].pid, signal.SIGCONT)

    def alive(self):
        """Return the numbers of the processes that haven't ended; frozen ones are among them."""
        return [number for number, process in self.processes.items() if process.is_alive()]

    def wait_for(self, happened, what, check=lambda: None, longest=120.0):
        """Wait until `happened()`; `what` names it. check: raises what else has failed meanwhile.

        Raises RuntimeError if a process has failed or all have ended; TimeoutError after `longest`.
        """
        end = time.monotonic() + longest
        while not happened():
            ended = not self.alive()
            check()
            self.check()
            if ended and not happened():
                raise RuntimeError(f"all processes have ended, so {what} never comes")
            if time.monotonic() > end:
                raise TimeoutError(f"waited {longest:.0f} s for {what}")
            time.sleep(0.01)

    def check(self):
        """Take what has come; RuntimeError with the traceback of a process that has failed."""
        for number, pipe in self.pipes.items():
            with suppress(EOFError, OSError):  # it has ended
                if pipe.poll():
                    well, self.told[number] = pipe.recv()
                    if not well:
                        raise RuntimeError(f"process {number} failed:\n{self.told[number]}")

    def results(self):
        """Wait for the end of all processes, and return {number: what its program returned}."""
        self.wait_for(lambda: not self.alive(), "the end")
        self.check()
        return dict(sorted(self.told.items()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for number in self.processes:
            self.kill(number)
