"""PF-5: wrong programs that the check must catch, and right ones that it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "not shifted",
        """
        read, mask = target, nn.Transformer.generate_square_subsequent_mask(target.size(1))
        return self.transformer(source, read, tgt_mask=mask)
        """,
        says="shift the target by one place",
    ),
    Program(
        "no mask",
        """
        read, mask = torch.cat((0 * target[:, :1], target[:, :-1]), 1), None
        return self.transformer(source, read, tgt_mask=mask)
        """,
        says="give a mask",
    ),
)

RIGHT = {
    "padded, and a mask of true and false": """
        places = torch.arange(target.shape[1])
        read = nn.functional.pad(target, (0, 0, 1, -1))
        return self.transformer(source, read, tgt_mask=places[None, :] > places[:, None])
        """,
}
