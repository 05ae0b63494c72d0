"""What comes from the clone's scripts: the syncer and the learner of lesson 21, and the model."""

import sys
from importlib import import_module

from helpers.clone import ROOT, need_clone
from helpers.together.guards import guarded

need_clone()
for folder in ("DP/never_stops", "DP/together"):
    if (scripts := str(ROOT / folder)) not in sys.path:
        sys.path.append(scripts)
Syncer, cut = import_module("syncer").Syncer, import_module("syncer").cut
learn_from = import_module("learner").learn_from
Refused = import_module("wire").Refused
classroom = import_module("classroom")


class Merges(Syncer):
    """Lesson 21's syncer without its server, whose merges are guarded; it counts tokens as well.

    quorum: half of those present, so that it follows a class that comes and goes.
    """

    def __init__(self, weights, fragments, guard, present, grace, oldest):
        super().__init__(weights, 1, grace, oldest, present, fragments, server=None)
        self.guard, self.tokens = guard, 0.0

    def merge_if_due(self, fragment):
        """Merge if it's time; return the deliveries that were merged, {} without a merge."""
        version, waiting = fragment.version, fragment.waiting
        if not waiting:
            return {}
        self.quorum = max(1, -(-len(self.present()) // 2))
        fragment.waiting = guarded(waiting, self.guard)
        super().merge_if_due(fragment)
        if fragment.version == version:
            fragment.waiting = waiting
            return {}
        del self.merges[:-100]
        self.tokens += sum(one["tokens"] for one in waiting.values()) / len(self.fragments)
        return waiting
