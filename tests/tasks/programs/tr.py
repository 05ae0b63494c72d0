"""Work in place of the solutions of TR that is no mutant: what the check must say of it."""

PROGRAMS = {
    "TR-1": {
        "losses are added up in float32":
            {"of_batch = 0.0": "of_batch = torch.zeros(())",
             "+= loss.item()": "+= loss.detach()",
             "append(of_batch)": "append(of_batch.item())"}},
}  # fmt: skip
