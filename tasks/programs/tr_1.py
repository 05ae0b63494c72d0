"""Programs for TR-1: wrong ones, most of which lower the loss all the same, and right ones."""

from helpers.grade.task import Program

BODY = """
        losses = []
        for batch in batches:
            optimizer.zero_grad()
            of_batch = 0.0
            for piece in batch.chunk(pieces):
                logits = model(piece)
                loss = causalLLMLoss(logits, piece, logits.shape[-1]) / pieces
                loss.backward()
                of_batch += loss.item()
            optimizer.step()
            losses.append(of_batch)
        return losses
        """

PROGRAMS = (
    Program(
        "the gradients of all steps add up",
        BODY.replace("            optimizer.zero_grad()\n", ""),
        says="every batch begins with optimizer.zero_grad()",
    ),
    Program(
        "the pieces are summed",
        BODY.replace(" / pieces", "").replace("item()", "item() / pieces"),
        says="divide each piece's loss by pieces before backward()",
        met="transformers and other trainers until October 2024, with pieces of unequal lengths",
    ),
    Program(
        "pieces are forgotten",
        """
        losses = []
        for batch in batches:
            optimizer.zero_grad()
            logits = model(batch)
            loss = causalLLMLoss(logits, batch, logits.shape[-1])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses
        """,
        says="with 3 equal pieces a batch they take 2, 2, 2",
    ),
    Program(
        "graphs in a list",
        BODY.replace(".0", "").replace("+= loss.item()", "= of_batch + loss"),
        says="return numbers, loss.item()",
    ),
    Program(
        "no return",
        """
        for batch in batches:
            optimizer.zero_grad()
            for piece in batch.chunk(pieces):
                logits = model(piece)
                (causalLLMLoss(logits, piece, logits.shape[-1]) / pieces).backward()
            optimizer.step()
        """,
        says="train() returns None",
    ),
)

RIGHT = {
    "the gradients divided at the end": """
        losses = []
        for batch in batches:
            model.zero_grad()
            values = []
            for piece in batch.split(len(batch) // pieces):
                loss = causalLLMLoss(scores := model(piece), piece, scores.shape[-1])
                loss.backward()
                values.append(float(loss))
            for p in model.parameters():
                p.grad /= pieces
            optimizer.step()
            losses.append(sum(values) / pieces)
        return losses
        """,
}
