"""The choice of torch: every kind of machine, and what is asked for by hand."""

import pytest

import torch_choice
from torch_choice import CPU_INDEX, Facts, already_good, asks_cpu_index, choose, unsupported

VERSION = "2.13.0"
PLAIN = ("install", "torch==2.13.0")
CPU = ("install", "--no-deps", "--index-url", CPU_INDEX, "torch==2.13.0")


def linux(**facts) -> Facts:
    return Facts("Linux", "x86_64", **facts)


@pytest.mark.parametrize(
    ("facts", "command", "word"),
    [
        (Facts("Darwin", "arm64"), PLAIN, "build for macOS"),
        (Facts("Windows", "x86_64"), PLAIN, "build for Windows"),
        (Facts("Windows", "x86_64", nvidia=True), PLAIN, "build for Windows"),
        (linux(nvidia=True), PLAIN, "with CUDA (Linux with an NVIDIA driver)"),
        (linux(cpu_index_answers=True), CPU, "for CPU from PyTorch's CPU index"),
        (linux(cpu_index_answers=False), PLAIN, "CPU index does not answer"),
        (Facts("Linux", "aarch64", cpu_index_answers=True), CPU, "for CPU"),
        (linux(nvidia=True, wanted="cpu", cpu_index_answers=True), CPU, "as asked"),
        (linux(wanted="cuda"), PLAIN, "with CUDA, as asked"),
    ],
)
def test_a_machine_without_torch(facts, command, word):
    choice = choose(facts, VERSION)
    assert choice.pip == command
    assert word in choice.why and "\n" not in choice.why


def test_a_good_torch_stays_and_nothing_is_run():
    choice = choose(linux(installed="2.13.0+cpu"), VERSION)
    assert choice.pip == ()
    assert choice.why == "torch 2.13.0+cpu is already there"


def test_a_cpu_build_beside_a_driver_stays_and_the_other_command_is_named():
    choice = choose(linux(installed="2.13.0+cpu", nvidia=True), VERSION)
    assert choice.pip == ()
    assert "--torch cuda" in choice.why


@pytest.mark.parametrize("installed", ["2.12.1+cpu", "2.14.0", "1.13.1"])
def test_another_version_is_replaced(installed):
    assert choose(linux(installed=installed, nvidia=True), VERSION).pip == PLAIN


def test_another_build_of_the_same_version_needs_force():
    facts = linux(installed="2.13.0+cpu", wanted="cuda")
    assert choose(facts, VERSION).pip == ("install", "--force-reinstall", "torch==2.13.0")
    facts = linux(installed="2.13.0", installed_cuda=True, wanted="cpu", cpu_index_answers=True)
    assert choose(facts, VERSION).pip == ("install", "--force-reinstall", *CPU[1:])


def test_cuda_on_windows_comes_from_an_index_of_pytorch():
    command = choose(Facts("Windows", "x86_64", wanted="cuda"), VERSION).pip
    assert command[-2:] == ("https://download.pytorch.org/whl/cu130", "torch==2.13.0")


def test_an_index_that_a_person_names_is_used_on_every_system():
    for system in ("Linux", "Windows", "Darwin"):
        facts = Facts(system, "arm64", wanted="https://example.org/whl", installed="2.13.0")
        choice = choose(facts, VERSION)
        assert choice.pip[-3:] == ("--index-url", "https://example.org/whl", "torch==2.13.0")
        assert "https://example.org/whl, as asked" in choice.why


def test_every_command_asks_for_exactly_the_pinned_version():
    for facts in (linux(), linux(nvidia=True), Facts("Darwin", "arm64"), linux(wanted="cuda")):
        assert choose(facts, "9.8.7").pip[-1] == "torch==9.8.7"


def test_the_cpu_index_is_asked_only_where_it_matters():
    assert asks_cpu_index(linux(), VERSION)
    assert asks_cpu_index(linux(nvidia=True, wanted="cpu"), VERSION)
    assert not asks_cpu_index(linux(nvidia=True), VERSION)
    assert not asks_cpu_index(linux(wanted="cuda"), VERSION)
    assert not asks_cpu_index(linux(wanted="https://example.org"), VERSION)
    assert not asks_cpu_index(linux(installed="2.13.0"), VERSION)
    assert not asks_cpu_index(Facts("Darwin", "arm64"), VERSION)


def test_already_good_looks_at_version_and_build():
    assert already_good(linux(installed="2.13.0", installed_cuda=True, wanted="cuda"), VERSION)
    assert not already_good(linux(installed="2.13.0", installed_cuda=True, wanted="cpu"), VERSION)
    assert not already_good(linux(installed="2.13.1"), VERSION)
    assert not already_good(linux(), VERSION)


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        (Facts("Darwin", "x86_64"), "Intel"),
        (Facts("Linux", "riscv64"), "riscv64"),
        (Facts("Linux", "x86_64", musl=True), "musl"),
        (Facts("Windows", "x86_64", bits=32), "64-bit"),
        (Facts("Darwin", "arm64", wanted="cuda"), "no CUDA"),
    ],
)
def test_a_machine_for_which_there_is_no_torch_gets_one_sentence(facts, word):
    sentence = unsupported(facts)
    assert word in sentence and "\n" not in sentence and sentence.endswith((".", ")."))


def test_ordinary_machines_are_supported():
    for facts in (linux(), Facts("Linux", "aarch64"), Facts("Darwin", "arm64")):
        assert unsupported(facts) is None
    assert torch_choice.unsupported(Facts("Windows", "x86_64", wanted="cuda")) is None
