"""DP-6: the step of ZeRO-1."""

from helpers.grade import Task
from tasks._shards import layers_of, stand_in

TASK = Task(
    id="DP-6",
    title="take a step in which each rank updates its own part",
    file="DP/zero/zero1.py",
    function="Zero1.step",
    notebook="11",
    points=10,
    minutes=10,
    hints=(
        "Each unit of the model can average its gradients, so that this rank has its part, and can "
        "gather its weights from all ranks. Where does the optimizer's step belong?",
        "Every unit: average(). Then the optimizer, once: it knows the parts of all units. Then "
        "every unit: gather().",
        "One loop over self.units that averages each; then one call of the optimizer's step; then "
        "one more loop that gathers each.",
    ),
)


def run(module, case):
    """Train two steps on shards that send nothing: what was asked of them, and the weights.

    case: the layers' weights and biases, the samples, the learning rate.
    """
    import torch

    log = []
    module.Shards = stand_in(log)
    net = torch.nn.Sequential(*layers_of(case, []))
    trainer = module.Zero1([[layer] for layer in net], _sgd(case, log), None)
    for samples in case["samples"]:
        trainer.zero_grad()
        net(samples).square().mean().backward()
        trainer.step()
    return {"order": log, "weights": [p.detach() for p in net.parameters()]}


def _sgd(case, log):
    """Return what makes an optimizer that writes down when it takes its step."""
    import torch

    def make(parameters):
        optimizer = torch.optim.SGD(parameters, lr=case["lr"])
        optimizer.register_step_pre_hook(lambda *_: log.append(("update", None)))
        return optimizer

    return make
