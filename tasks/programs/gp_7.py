"""GP-7: wrong programs that the check must catch, and right ones that it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "without the mask",
        """
        class Forgets(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, both):
                return self.inner(both[0]), both[1]
        sequence = nn.Sequential()
        for n in range(len(self.h)):
            sequence.append(WithDevice(Forgets(self.h[n]), self.devices[n]))
        pipe = Pipe(sequence, split_size, recorders=recorders)
        self._hold(pipe)
        """,
        says="do not get the mask",
    ),
    Program(
        "copies",
        """
        import copy
        sequence = nn.Sequential()
        for n in range(len(self.h)):
            sequence.append(WithDevice(BlockWithMask(copy.deepcopy(self.h[n])), self.devices[n]))
        pipe = Pipe(sequence, split_size, recorders=recorders)
        self._hold(pipe)
        """,
        says="weights of its own",
    ),
)

RIGHT = {
    "append": """
        sequence = nn.Sequential()
        for n in range(len(self.h)):
            sequence.append(WithDevice(BlockWithMask(self.h[n]), self.devices[n]))
        pipe = Pipe(sequence, split_size, recorders=recorders)
        self._hold(pipe)
        """,
}
