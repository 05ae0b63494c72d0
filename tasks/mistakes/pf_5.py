"""Wrong ways to do PF-5, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def forward(
    before="torch.cat((0 * target[:, :1], target[:, :-1]), 1)",
    mask="nn.Transformer.generate_square_subsequent_mask(target.size(1))",
    give="self.transformer(source, read, tgt_mask=mask)",
):
    """The right answer with one of its parts done in another way."""
    return f"""
        read, mask = {before}, {mask}
        return {give}
        """


MISTAKES = (
    PlantedMistake("not shifted", forward(before="target"), says="shift the target by one place"),
    PlantedMistake("no mask", forward(mask="None"), says="give a mask"),
    PlantedMistake(
        "neither", forward(before="target", mask="None"), says="shift the target by one place; and"
    ),
    PlantedMistake(
        "shifted the wrong way",
        forward(before="torch.cat((target[:, 1:], 0 * target[:, :1]), 1)"),
        says="is shifted the wrong way",
    ),
    PlantedMistake("rolled", forward(before="target.roll(1, 1)"), says="do not roll it round"),
    PlantedMistake(
        "the first one twice",
        forward(before="torch.cat((target[:, :1], target[:, :-1]), 1)"),
        says="read zeros there",
    ),
    PlantedMistake(
        "the mask turned round",
        forward(mask="nn.Transformer.generate_square_subsequent_mask(target.size(1)).T"),
        says="the mask is the wrong way round",
    ),
    PlantedMistake(
        "one too long",
        forward(
            before="torch.cat((0 * target[:, :1], target), 1)",
            mask="nn.Transformer.generate_square_subsequent_mask(target.size(1) + 1)",
        ),
        says="the prediction has (3, 6, 8)",
    ),
    PlantedMistake("nothing given", forward(give="None"), says="must give a tensor"),
    PlantedMistake("something else", forward(give="2 * target"), says="of no known kind"),
)

ALSO_RIGHT = {
    "plain": forward(),
    "padded, and a mask of true and false": """
        places = torch.arange(target.shape[1])
        read = nn.functional.pad(target, (0, 0, 1, -1))
        return self.transformer(source, read, tgt_mask=places[None, :] > places[:, None])
        """,
}
