"""DP-7: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "not before backward",
        {"module.register_full_backward_pre_hook(need)": "pass"},
        says="computes backward without its weights",
    ),
    Program(
        "not before forward",
        {"module.register_forward_pre_hook(need)": "pass"},
        says="computes forward without its weights",
    ),
    Program(
        "not freed after forward",
        {"module.register_forward_hook(lambda *_: shards.free())": "pass"},
        says="free after forward",
    ),
    Program("not freed after backward", {"unit.free()": "pass"}, says="its gradients are complete"),
    Program("gathered twice", {"not shards.is_whole": "True"}, says="although it is whole"),
    Program(
        "a shared weight is freed",
        {"len(modules) == 1": "True"},
        says="unit 0 has two modules and is freed between them",
    ),
    Program(
        "not averaged",
        {"super().complete(p)": "self.missing[self.unit_of[p]].discard(p)"},
        says="ZeRO-2's complete() does it",
    ),
)
