"""Trace cards: a step is drawn without a word, and whoever reads it says what is wrong with it.

    python -m helpers.cards --seed 4711 --count 4           a sheet of four cards, to print
    python -m helpers.cards --seed 4711 --count 4 --key     the same with the answers
    python -m helpers.cards --seed 4711 --measured          steps that real ranks take
    python -m helpers.cards exam --seed A --secret FILE     an exam of ninety minutes; --key: solved
    python -m helpers.cards grade answers.csv               points for what a class wrote

    card = deal(4711, 2)
    card.picture(), card.facts                what is shown
    card.check(schedule="1F1B", fault="slow link", where="1-2", idle=31, mended=150)

Every card hides one fault: a rank that is slow, a stage that is too long, a slow link, too few
micro-batches, gradients that nothing hides, a mean over the wrong ranks. All answers change with
the seed. A seed is public and so is its key; for points, draw with a secret (`--secret FILE`).

Files: questions (a card: what is asked, and the slips behind wrong answers), measured (steps of
real ranks), replicas (data-parallel ones), dealing (pipelines, and a card from a seed), sheet and
exam (on paper), tournament (pairs predict a step that is then run).
"""

from helpers.cards.dealing import Card, deal
from helpers.cards.questions import Choice, Number, Result

__all__ = ["Card", "Choice", "Number", "Result", "deal"]
