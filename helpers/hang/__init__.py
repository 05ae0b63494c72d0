"""From "nothing moves" to "rank 1 sends to rank 2 at line 30 while rank 2 sends to rank 1".

    the_watch().begin(rank)    in each rank: writes every call of torch.distributed down
    the_watch().check(store)   checked mode: what does not fit is refused before it happens
    Scene(standings, ended)    where all ranks stand, as the launcher collects it
    tell(scene)                the story: one sentence, the cure, a picture

Files, from the ground up: `places` (lines of code), `operation`, `log` (facts of one rank);
`calls`, `peers`, `watch`, `threads`, `flight`, `agree`, `deferred` work inside a rank; `match`,
`polling`, `needs`, `rows`, `story` explain. Only what works inside a rank imports torch.

A verdict is certain only where nothing can still act: a rank is judged by its main thread, or by
the one thread that all others of it wait for, and it has finished when Python would end its
process. The time limit of a whole group (timeout=… of init_process_group or new_group) is there to
end a program that hangs, so it doesn't count as something that can still act.
"""

from helpers.hang.log import Log, Standing
from helpers.hang.match import Mismatch
from helpers.hang.needs import Scene
from helpers.hang.operation import Operation
from helpers.hang.story import Story, tell

__all__ = ["Log", "Mismatch", "Operation", "Scene", "Standing", "Story", "tell"]
