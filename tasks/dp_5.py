"""DP-5: the step of ZeRO-1."""

from helpers.grade import Task

TASK = Task(
    id="DP-5",
    title="take a step in which each rank updates its own part",
    file="DP/zero/zero1.py",
    function="Zero1.step",
    notebook="11",
    libraries=("torch._dynamo",),  # an optimizer needs it
    points=15,
    minutes=25,
    ranks=3,
    hints=(
        "Each unit of the model can average its gradients, so that this rank has its part, and can "
        "gather its weights from all ranks. In between stands the optimizer. In which order?",
        "Every unit: average(). Then the optimizer, once: it knows the parts of all units. Then "
        "every unit: gather().",
        "One loop over self.units that averages each; then one call of the optimizer's step; then "
        "one more loop that gathers each.",
    ),
)


def run(module, case):
    """On a rank: train a few steps; the weights afterwards, and what was sent.

    case: the layers' weights and biases, and the samples of each step and rank.
    """
    import torch
    import torch.distributed as dist

    from helpers.trace import Recorder

    rank, recorder = dist.get_rank(), Recorder(dist.get_rank())
    net = torch.nn.Sequential(*(torch.nn.Linear(*w.shape).double() for w, _ in case["layers"]))
    with torch.no_grad():
        for layer, (weight, bias) in zip(net, case["layers"], strict=True):
            layer.weight.copy_(weight)
            layer.bias.copy_(bias)
    trainer = module.Zero1([[part] for part in net], _adam, recorder)
    for samples in case["samples"]:
        trainer.zero_grad()
        torch.tanh(net(samples[rank])).square().mean().backward()
        trainer.step()
    return {
        "weights": [p.detach() for p in net.parameters()],
        "sent": [e.kind for e in recorder.trace().events],
    }


def _adam(parameters):
    import torch

    return torch.optim.Adam(parameters, lr=1e-2)
