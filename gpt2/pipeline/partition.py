"""Where a sequence of layers is cut: wherever the device changes."""

import torch
from torch import nn
from wrong_input import WrongInput


class WithDevice(nn.Module):
    """A module, and the device that it belongs to: for one without parameters, such as dropout.

    On a machine without GPUs it makes several devices of one: "cpu:0", "cpu:1". A tensor on
    either is an ordinary one, but the marks differ, and each gets a worker thread of its own.
    """

    def __init__(self, module, device):
        super().__init__()
        self.module, self.device = module, torch.device(device)

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)


def _retrieve_device(module):
    """Return the device of a layer: its mark, or where its parameters are, or the CPU without any.

    Raises WrongInput for parameters on two devices.
    """
    if isinstance(module, WithDevice):
        return module.device
    devices = {tensor.device for tensor in (*module.parameters(), *module.buffers())}
    if len(devices) > 1:
        there = " and ".join(sorted(map(str, devices)))
        told = f"has parameters on {there}: put all of a layer on one device"
        raise WrongInput(f"the layer {type(module).__name__} {told}")
    return devices.pop() if devices else torch.device("cpu")


def _assemble_partition(modules):
    """Return the layers of one part as an nn.Sequential, without their marks."""
    plain = [module.module if isinstance(module, WithDevice) else module for module in modules]
    return nn.Sequential(*plain)


def _split_module(modules):
    """Return the parts, each an nn.Sequential, and the device of each, which may have several.

    Raises WrongInput for what is not an nn.Sequential, and for one without layers.
    """
    if not isinstance(modules, nn.Sequential):
        told = f"not of a {type(modules).__name__}: its layers must follow each other"
        raise WrongInput(f"a pipeline is made of an nn.Sequential, {told}")
    if len(modules) == 0:
        raise WrongInput("a pipeline of an empty nn.Sequential: give it one layer or more")
    # BEGIN SOLUTION GP-3
    parts, devices = [], []
    for layer in modules:
        device = _retrieve_device(layer)
        if not devices or device != devices[-1]:
            parts.append([])
            devices.append(device)
        parts[-1].append(layer)
    return nn.ModuleList(_assemble_partition(part) for part in parts), devices
    # END SOLUTION
