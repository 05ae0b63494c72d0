"""Work in place of the solutions of PF that is no mutant: what the check must say of it."""

TO_HALF = "if dtype in HALF:\n    model.to(dtype)\n"

PROGRAMS = {
    "PF-3": {
        "the other way round": """
me = os.getpid()
if me == self.owner:
    return self.file
self.owner = me
self.file = self.open_file()
return self.file
""",
        "nothing given":
            ({"return self.file": ""},
             "rank, item 0: 'None, and no open file, of 1 opened' in place of "
             "'file 1 of 1 opened'"),
        "another file": ({"return self.file": "return dict(self.file, number=7)"}, "7}")},
    "PF-4": {
        "zero_grad with its flag":
            {"scaler.update()": "scaler.update()\n    optimizer.zero_grad(set_to_none=True)"},
        "autocast only where it is needed, and squares by hand": """
half = dtype in HALF
with record_function("forward"):
    if half:
        with torch.autocast(source.device.type, dtype):
            found = model(source, target)
        found, target = found.float(), target.float()
    else:
        found = model(source, target)
    loss = ((found - target) ** 2).mean()
with record_function("backward"):
    scaled = scaler.scale(loss)
    scaled.backward()
with record_function("update"):
    scaler.step(optimizer)
    scaler.update()
return loss.detach()
""",
        "weights in half":
            ({'with record_function("forward")': f'{TO_HALF}with record_function("forward")'},
             "they must stay torch.float32"),
        "not marked": ({'"forward"': '"model"'}, "does not see: forward; mark it")},
    "PF-5": {
        "padded, and a mask of true and false": """
places = target.shape[1]
read = nn.functional.pad(target, (0, 0, 1, 0))[:, :-1]
later = torch.ones(places, places, dtype=torch.bool).triu(1)
return self.transformer(source, read, tgt_mask=later)
""",
        "one too long": ("""
read = nn.functional.pad(target, (0, 0, 1, 0))
mask = nn.Transformer.generate_square_subsequent_mask(read.shape[1])
return self.transformer(source, read, tgt_mask=mask)
""", "prediction: has the shape")},
}  # fmt: skip
