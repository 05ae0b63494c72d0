"""Cards on paper: one HTML page to print, with the answers or without."""

from html import escape

from helpers.cards.dealing import Card
from helpers.cards.questions import Number, Question
from helpers.draw.style import painted
from helpers.words import significant

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #16191d; max-width: 48rem; margin: 2rem auto; }
article { break-after: page; } article:last-child { break-after: auto; }
svg { max-width: 100%; height: auto; } h2 { font-size: 1.15rem; margin: 0 0 .4rem; }
p { margin: .3rem 0 .7rem; } li { margin: .5rem 0; } dl { margin: .2rem 0; font-size: .9em; }
dt { font-weight: 600; float: left; clear: left; margin-right: .5em; } dd { margin: 0; }
.blank { display: inline-block; min-width: 9rem; border-bottom: 1px solid #555; }
.right { font-weight: 600; color: var(--palette-blue); } .story { color: #555; font-size: .9em; }
"""


def sheet(cards: list[Card], key: bool = False, title: str = "Trace cards") -> str:
    """Return one HTML file with a page for each card; `key`: with answers, slips and the story."""
    pages = "".join(
        f"<article><h2>Card {escape(card.name)} ({card.points} points)</h2>{page_of(card, key)}"
        "</article>"
        for card in cards
    )
    return html_page(title, pages)


def html_page(title: str, body: str, style: str = STYLE) -> str:
    """Return HTML that needs no other file."""
    head = f"<meta charset=utf-8><title>{escape(title)}</title><style>{painted(style)}</style>"
    return f"<!doctype html><html lang=en><head>{head}</head><body>{body}</body></html>\n"


def page_of(card: Card, key: bool) -> str:
    """Return a card as HTML, without its heading."""
    questions = "".join(f"<li>{_asked(question, key)}</li>" for question in card.questions)
    story = f"<p class=story>{escape(card.story)}</p>" if key else ""
    facts = escape(" ".join(card.facts))
    return f"{card.picture().svg()}<p>{facts}</p><ol>{questions}</ol>{story}"


def _asked(question: Question, key: bool) -> str:
    text = f"{escape(question.text)} <i>({question.points})</i>"
    right, more = "", ""
    if isinstance(question, Number):
        right = f"{significant(question.right)} {question.unit}"
        if key and (slips := question.telling):
            slips = "; ".join(f"{significant(v)}: {slip}" for slip, v in slips.items())
            more = f"<br><span class=story>half the points for {escape(slips)}</span>"
    else:
        right = question.right
        rows = "".join(
            f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>"
            for word, meaning in question.choices.items()
            if meaning
        )
        words = ", ".join(word for word, meaning in question.choices.items() if not meaning)
        more = f"<dl>{rows}</dl>" if rows else f"<br>{escape(words)}"
    shown = (
        f"<span class=right>{escape(right)}</span>" if key else "<span class=blank>&nbsp;</span>"
    )
    return f"{text} {shown}{more}"
