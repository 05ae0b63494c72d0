"""Fourteen training runs whose loss curves look fine, and what most of them hide.

Mistakes and places are drawn anew for each class.

case = Case(5, seed=7)                  case 5 of class 7; its clock starts
case.listing()                          the script that ran, with its lines
case.run(at=2)                          all tools below look at step 2
case.accuse(rank=1, tensor="head.weight", line=60, mistake="clip")

python cases.py key --seed 7            the teacher's key
"""

import argparse
import difflib
import linecache
import time
import types
from dataclasses import replace
from fnmatch import fnmatch
from random import Random

import one_device
import torch
from one_device import LENGTH, MICRO_BATCH, RATE, STEPS, STORIES

from helpers.check.task import lab, part_of_tasks, solved
from helpers.draw import curves as curves_of
from helpers.oracle import Step, common_factor, differences, gather, judge
from helpers.oracle.record import recording
from helpers.oracle.step import GatherError
from helpers.ranks import launch

RANKS, LEVELS = 4, {1: "easy", 2: "middle", 3: "hard"}
FIRST = {1: 1, 2: 5, 3: 10}  # the first case of each level
CASES = 14
EVERY = 8  # a training prints the loss of every eighth step


def truth(name):
    return part_of_tasks(f"answers/{name}")


def mistakes():
    """Return the mistakes by their short names, which `accuse` takes."""
    return {name: mistake.name for name, mistake in sorted(truth("_mistakes").MISTAKES.items())}


def outside(losses, healthy):
    """Return whether a curve leaves the band of some healthy ones at some printed step."""
    band = zip(losses, *healthy, strict=True)
    return not all(min(others) <= loss <= max(others) for loss, *others in band)


class Case:
    """One of the fourteen: a script, its runs, the tools that look at them, and a clock.

    number: 1 to 4 are easy, 5 to 9 in the middle, 10 to 14 hard. seed: of the class.
    """

    def __init__(self, number, seed=0):
        if number not in range(CASES + 1):
            raise ValueError(f"there are cases 1 to {CASES}, and 0 as an example, but no {number}")
        self.number, self.seed = number, seed
        self.level = max(level for level, first in FIRST.items() if level == 1 or first <= number)
        self._tries, self._start, self._ranks = 0, time.monotonic(), None
        known = truth("_mistakes")
        draw = Random(f"{seed} case {number}")
        names = [name for name, each in known.MISTAKES.items() if each.level == self.level]
        Random(f"{seed} {self.level}").shuffle(names)
        self._name = names[number - FIRST[self.level]] if number else "left over"
        self._mistake = known.MISTAKES[self._name] if number else known.EXAMPLE
        which = draw.randrange(len(self._mistake.variants))
        self._planted = self._mistake.variants[which]
        curves = truth("_curves").SICK[f"{self._name} {which}"]
        self.training_seed = draw.choice(sorted(curves))
        self._curve = curves[self.training_seed]
        healthy = load_source("_trainer")
        for old, new in known.HARMLESS:
            healthy = healthy.replace(old, new) if draw.random() < 0.5 else healthy
        self.text = healthy.replace(*self._planted[:2])
        self._lines = changed(healthy, self.text)

    def __repr__(self):
        minutes = (time.monotonic() - self._start) / 60
        return f"case {self.number} of class {self.seed}: {LEVELS[self.level]}, {minutes:.1f} min"

    def listing(self, first=1, last=None):
        """Print the script's lines with their numbers."""
        lines = self.text.splitlines()
        for number in range(first, min(last or len(lines), len(lines)) + 1):
            print(f"{number:3} {lines[number - 1]}")

    def picture(self):
        """Return the printed losses of this training, among those of the healthy ones."""
        ends = range(EVERY, STEPS + 1, EVERY)
        healthy = truth("_curves").HEALTHY.values()
        steps = list(zip(*healthy, strict=True))
        band = {f"{word} of {len(healthy)} healthy runs": list(map(pick, steps))
                for word, pick in (("highest", max), ("lowest", min))}  # fmt: skip
        runs = band | {f"case {self.number}": self._curve}
        at = {name: dict(zip(ends, losses, strict=True)) for name, losses in runs.items()}
        title = f"Case {self.number} in the band of {len(healthy)} healthy runs"
        return curves_of(at, title, quiet=band)

    # --- runs ------------------------------------------------------------------------------------

    def run(self, at=2, steps=0):
        """Run the script on four ranks, and keep step `at`, counted from 0; return the log.

        steps: by default one more than those up to `at`.
        """
        args = (self.text, self.training_seed, max(steps, at + 2), at)
        self._ranks = launch(on_rank, RANKS, args, quiet=True)
        self.at, self.trace = at, self._ranks[0]["trace"]
        self.trace = self.trace.merged(*(rank["trace"] for rank in self._ranks[1:]))
        self.one = step_alone(self._weights("before"), self.training_seed, at)
        return self._ranks[0]["log"]

    def _found(self):
        if self._ranks is None:
            raise ValueError("nothing has run yet: call case.run(at=2) first")
        return self._ranks

    def _weights(self, when):
        """The whole model of replica 0."""
        first, second = self._found()[:2]
        return first[when] | {n: w for n, w in second[when].items() if n not in first[when]}

    # --- tools, in the order in which a step happens ---------------------------------------------

    def log(self):
        """Print the log of the run, beside what one device logs from the same seed."""
        found = self._found()[0]["log"]
        right, _ = one_device.train(self.training_seed, len(found))
        for step, (mine, alone) in enumerate(zip(found, right, strict=True)):
            said = (f"{name} {mine[name]:.4f} ({alone[name]:.4f})" for name in alone)
            print(f"step {step:2}: {', '.join(said)}")

    def stories(self):
        """Print which stories each rank has read in step `at`."""
        for rank, found in enumerate(self._found()):
            print(f"rank {rank}: {found['read'][2 * self.at : 2 * self.at + 2]}")

    def tokens(self):
        """Print where the loss of a token differs from one device's: x; · where not."""
        found = self._found()
        for replica in range(2):
            first, second = found[2 * replica], found[2 * replica + 1]
            halves = zip(first["losses"], second["losses"], strict=True)
            for part, mine in enumerate(halves):
                numbers = first["read"][2 * self.at + part]
                right = self._losses_alone(numbers)
                rows = zip(numbers, torch.cat(mine, 1), right, strict=True)
                for number, here, there in rows:
                    marks = marked(here, there)
                    print(f"story {number:3} ranks {2 * replica} {2 * replica + 1}  "
                          f"{marks[: LENGTH // 2]}|{marks[LENGTH // 2 :]}")  # fmt: skip

    def _losses_alone(self, numbers):
        model = one_device.Model(self.training_seed)
        model.load_state_dict(self._weights("before"))
        with torch.no_grad():
            return one_device.nll(model, self.training_seed, numbers)

    def backwards(self):
        """Print what each micro-batch's backward left, before any message, beside one device."""
        found = self._found()
        for replica in range(2):
            halves = [rank["backwards"] for rank in found[2 * replica : 2 * replica + 2]]
            for part, each in enumerate(zip(*halves, strict=True)):
                both = {n: sum(half[n] for half in each if n in half) for n in self.one.before}
                right = self.one.backwards[replica * STORIES // MICRO_BATCH // 2 + part]
                right = {name: right[name] for name in both}
                print(f"replica {replica}, micro-batch {part}: {in_words(right, both)}")

    def gradients(self):
        """Print the gradients of each rank, after all messages, beside one device's."""
        for rank, found in enumerate(self._found()):
            right = {n: self.one.gradients[n] for n in found["gradients"]}
            print(f"rank {rank}: {in_words(right, found['gradients'])}")

    def disagreements(self):
        """Print the tensors that two ranks hold, and that aren't equal on both."""
        words = {"before": "weights before the step", "gradients": "gradients",
                 "after": "weights after the step"}  # fmt: skip
        for kind, said in words.items():
            for one, other in ((0, 1), (2, 3), (0, 2), (1, 3)):
                first, second = (self._found()[rank][kind] for rank in (one, other))
                both = [name for name in first if name in second]
                wrong = [d.name for d in differences({n: first[n] for n in both}, second)
                         if d.name in both]  # fmt: skip
                shown = ", ".join(wrong[:3]) + (", …" if len(wrong) > 3 else "")
                found = f"{len(wrong)} differ: {shown}" if wrong else "equal"
                print(f"{said}, ranks {one} and {other}: {found}")

    def judge(self):
        """Print the oracle's judgment of step `at`, or its sentence where the halves disagree."""
        names, steps = list(self.one.before), []
        for replica in range(2):
            halves = self._found()[2 * replica : 2 * replica + 2]
            facts = [Step(h["before"], h["gradients"], h["after"]) for h in halves]
            try:
                step = gather(facts, names)
            except GatherError as error:
                print(f"Replica {replica} (its ranks are counted from 0): {error}.")
                return
            steps.append(step if self.at == 0 else replace(step, after={}))
        found = judge(self.one.step(), steps)
        print(found.headline, found.mistake or "", sep="\n" if found.mistake else "")

    # --- the end ---------------------------------------------------------------------------------

    def key(self):
        """Return the right answers, for a teacher."""
        _, _, tensors, ranks = self._planted
        ranks = "all" if len(ranks) == RANKS else ", ".join(map(str, ranks))
        return {"case": self.number, "mistake": self._name, "rank": ranks,
                "tensor": "all" if tensors == "*" else tensors,
                "line": f"{self._lines[0]}-{self._lines[-1]}" if self._lines else "none",
                "because": self._mistake.because}  # fmt: skip

    def accuse(self, rank, tensor, line, mistake):
        """Say what it is; print what is right of it, and the points.

        Args:
            rank: a rank that does it wrong, or "all".
            tensor: a name, or "all" where no tensor is spared.
            line: of the script. mistake: one of `mistakes()`. With "none", only that counts.
        """
        _, _, tensors, ranks = self._planted
        right = {
            "mistake": mistake == self._name,
            "rank": rank in ranks if len(ranks) < RANKS else rank == "all",
            "tensor": tensor == "all" if tensors == "*" else fnmatch(str(tensor), tensors),
            "line": line in self._lines,
        }
        if not self._lines:  # there's nothing else to name
            right = dict.fromkeys(right, right["mistake"])
        points = max(0, self.level * sum(right.values()) - self._tries)
        minutes = (time.monotonic() - self._start) / 60
        print(", ".join(f"{what} {'✓' if ok else '✗'}" for what, ok in right.items()))
        print(f"{points} of {4 * self.level} points after {minutes:.1f} minutes")
        if all(right.values()):
            print(self._mistake.because)
        self._tries += 1


def loaded(text):
    """Return a script as a module."""
    script = types.ModuleType("case")
    linecache.cache["case.py"] = (len(text), None, text.splitlines(True), "case.py")
    exec(compile(text, "case.py", "exec"), vars(script))
    return script


def on_rank(text, seed, steps, at):
    """On a rank: run the script, and return what the tools look at."""
    script = loaded(text)
    read, losses, told = [], [], script.Shared.losses
    used = {}  # the weights that the forwards of this step and of the next one begin with

    def listened(rank, seed, numbers):
        kind = {2 * at: "before", 2 * at + 2: "after"}.get(len(read))
        if kind:
            used[kind] = {n: p.detach().clone() for n, p in rank.model.named_parameters()}
        found = told(rank, seed, numbers)
        if len(read) // 2 == at:
            losses.append(found.detach())
        read.append(list(numbers))
        return found

    script.Shared.losses = listened
    with recording(at) as seen:
        log, trace = script.train(seed, steps)
    facts = used | {"gradients": seen.gradients, "backwards": seen.backwards}
    return facts | {"log": log, "trace": trace, "read": read, "losses": losses}


def step_alone(weights, seed, at):
    """Take one device's step `at` from these weights; return the Recording of it."""
    model = one_device.Model(seed)
    model.load_state_dict(weights)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE * one_device.rate_at(at))
    with recording() as seen:
        one_device.take_step(model, optimizer, seed, at)
    if at > 0:
        seen.after = {}  # the optimizer has a past that isn't known here
    return seen


def in_words(right, found):
    """Return in a few words how some gradients differ from the right ones."""
    wrong = [difference.name for difference in differences(right, found)]
    if not wrong:
        return "right"
    if factor := common_factor(right, found):
        return f"all {factor:.3g} times what they should be"
    parts = {n: common_factor({n: right[n]}, {n: found[n]}) for n in wrong}
    last = wrong[-1]
    size = f" ({parts[last]:.3g} times what it should be)" if parts[last] else ""
    return (
        f"{len(wrong)} of {len(right)} are wrong; the first that backward reaches is {last}{size}"
    )


def marked(here, there):
    """Return a letter for each token: x where two losses differ, a space for padding."""
    far = (here - there).abs() > 1e-4 * (1 + there)
    return "".join("x" if f else " " if r == 0 else "·" for f, r in zip(far, there, strict=True))


def load_source(name):
    """Return the text of a module of the truth, packed or not."""
    module = truth(name)
    return module.__spec__.loader.get_source(module.__spec__.name)


def changed(old, new):
    """Return the numbers of the lines of `new` that aren't in `old`, and those around a gap."""
    found = set()
    blocks = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    for kind, _, _, first, last in blocks.get_opcodes():
        if kind != "equal":
            found |= set(range(first + 1, last + 1)) or {first, first + 1}
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description="The teacher's key.")
    parser.add_argument("what", choices=("key",))
    parser.add_argument("--seed", type=int, default=0, help="of the class (0)")
    seed = parser.parse_args().seed
    if solved() != lab():
        parser.error("the key needs the folder with the solutions")
    for number in range(1, CASES + 1):
        print("; ".join(f"{name} {value}" for name, value in Case(number, seed).key().items()))


if __name__ == "__main__":
    main()
