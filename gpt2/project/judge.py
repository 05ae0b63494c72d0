"""How good a model is: the loss on the validation sentences, BLEU on the test sentences."""

from collections.abc import Callable

from torch import nn

from project import utils
from project.across import everyone
from project.data import Translations


def judge(
    model: nn.Module,
    rows: Translations,
    tokenizer,
    collate: Callable,
    batch_size: int,
    rank: int = 0,
    world_size: int = 1,
    longest: int | None = None,
) -> tuple[float, float]:
    """The loss (nats per token) and BLEU (0 to 100); each rank does a share, and all get both.

    longest: tokens of a sentence with its translation; None: as many as the model has positions.
    """
    mine = rows.validation[rank::world_size]
    loss = utils.evaluate_loss(model, mine, batch_size, collate, "validation", rank)
    mine = rows.test[rank::world_size]
    device, longest = next(model.parameters()).device, longest or model.config.n_positions
    said = utils.generate(model, mine, "de", "en", tokenizer, longest, device, "test", rank)
    pairs = [pair for each in everyone(list(zip(mine, said, strict=True))) for pair in each]
    examples, sentences = zip(*pairs, strict=True)
    return loss, utils.evaluate_bleu(examples, sentences, "en")["bleu"]
