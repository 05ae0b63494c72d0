"""Work in place of the solutions of GP that is no mutant: what the check must say of it."""

PROGRAMS = {
    "GP-3": {
        "by where parts begin": """
layers = list(modules)
where = [_retrieve_device(layer) for layer in layers]
begins = [0] + [n for n in range(1, len(where)) if where[n] != where[n - 1]]
parts = [layers[a:b] for a, b in zip(begins, [*begins[1:], None])]
return nn.ModuleList(map(_assemble_partition, parts)), [where[n] for n in begins]
""",
        "from the last layer":
            ({"in modules:": "in list(modules)[::-1]:"},
             "the layers come in the order [2, 1, 0]: a batch must go through them as they stand"),
        "the first layer forgotten":
            ({"in modules:": "in list(modules)[1:]:"},
             "the parts have layers [1, 2]: each layer once")},
    "GP-4": {
        "by micro-batch": """
for k in range(num_batches + num_partitions - 1):
    first, last = max(0, k - num_partitions + 1), min(k, num_batches - 1)
    yield [(i, k - i) for i in range(first, last + 1)]
""",
        "twice":
            ({"if 0 <= cycle - j < num_batches]": "if 0 <= cycle - j < num_batches] * 2"},
             "'micro-batch 0 and micro-batch 0' in place of 'micro-batch 0'")},
    "GP-5": {
        "a dictionary": """
asked = {}
for i, j in schedule:
    asked[j] = i
    self.in_queues[j].put(Task(lambda i=i, j=j: self.one(j, i, batches[i])))
for j, i in asked.items():
    done, answer = self.out_queues[j].get()
    if not done:
        raise answer[1]
    batches[i] = answer[1]
""",
        "results in another place":
            ({"batches[i] = answer[1]": "batches[i - 1] = answer[1]"},
             "the micro-batches are not what the layers make of them"),
        "another error":
            ({"raise answer[1].with_traceback(answer[2])": 'raise RuntimeError("no answer")'},
             "out of compute comes RuntimeError: no answer: raise the worker's error"),
        "one after the other, and errors are lost": ("""
for i, j in schedule:
    job = Task(partial(self.one, j, i, batches[i]))
    self.in_queues[j].put(job)
    batches[i] = self.out_queues[j].get()[1][1]
""", "the parts work one after the other")},
    "GP-7": {
        "append": """
sequence = nn.Sequential()
for n in range(len(self.h)):
    sequence.append(WithDevice(BlockWithMask(self.h[n]), self.devices[n]))
self._hold(Pipe(sequence, split_size, recorders=recorders))
"""},
}  # fmt: skip
