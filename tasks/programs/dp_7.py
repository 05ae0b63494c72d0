"""Programs for DP-7: wrong and right work. One body stands in both functions."""

from helpers.grade.task import Program

HOOKS = """
given = dict(locals())
if "shards" in given:
    shards, modules = given["shards"], given["modules"]

    def need(*_):
        if {unless}:
            shards.gather()

    for module in modules:
        {ahead}
        {back}
        {done}
else:
    {complete}
    if not self.missing[self.unit_of[given["p"]]]:
        {free}
"""
RIGHT_LINES = {
    "unless": "not shards.is_whole",
    "ahead": "module.register_forward_pre_hook(need)",
    "back": "module.register_full_backward_pre_hook(need)",
    "done": "len(modules) == 1 and module.register_forward_hook(lambda *_: shards.free())",
    "complete": "super().complete(given['p'])",
    "free": "self.unit_of[given['p']].free()",
}


def body(**other):
    return HOOKS.format(**RIGHT_LINES | other)


PROGRAMS = (
    Program("not before backward", body(back="pass"), says="computes backward without its weights"),
    Program("not before forward", body(ahead="pass"), says="computes forward without its weights"),
    Program("not freed after forward", body(done="pass"), says="free after forward"),
    Program("not freed after backward", body(free="pass"), says="its gradients are complete"),
    Program("gathered twice", body(unless="True"), says="although it is whole"),
    Program(
        "a shared weight is freed",
        body(done="module.register_forward_hook(lambda *_: shards.free())"),
        says="unit 0 has two modules and is freed between them",
    ),
    Program(
        "not averaged",
        body(complete="self.missing[self.unit_of[given['p']]].discard(given['p'])"),
        says="ZeRO-2's complete() does it",
    ),
)

RIGHT = {"the same in other words": body(unless="shards.is_whole is False")}
