"""A lesson's text as HTML: formulas as MathML, links to other lessons as links to their pages."""

import re
from collections.abc import Callable
from html import escape

import mistune
from latex2mathml.converter import convert
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
FORMULA = re.compile(
    r"(?<!\\)\$\$(?P<block>.+?)\$\$|(?<![\\$])\$(?P<inline>[^\s$](?:[^$]*?[^\s$\\])?)\$(?!\d)",
    re.DOTALL,
)
MENTION = re.compile(r"\b[Ll]essons? \d\d(?:(?:, and |, | and | to | or )\d\d)*\b")
HELD = re.compile("\ue000(\\d+)\ue001([.,:;?!)]*)")
FORMATTER = HtmlFormatter(nowrap=True)


class Renderer(mistune.HTMLRenderer):
    """HTML with an id for each heading.

    where: (address, words) -> HTML of a link. lesson: of a number its file, None if it needs none.
    """

    def __init__(
        self, where: Callable[[str, str], str], lesson: Callable[[str], str | None] | None
    ):
        super().__init__(escape=False)
        self.where, self.lesson = where, lesson

    def text(self, text: str) -> str:
        html = super().text(text)
        return MENTION.sub(self.mention, html) if self.lesson else html

    def mention(self, found: re.Match) -> str:
        """Return "lesson 12" as a link, of several lessons each number."""

        def linked(words: re.Match) -> str:
            file = self.lesson(words[0][-2:])
            return self.where(file, words[0]) if file else words[0]

        several = len(re.findall(r"\d\d", found[0])) > 1
        return re.sub(r"\d\d" if several else r".+", linked, found[0])

    def heading(self, text: str, level: int, **attributes) -> str:
        if level > 1 and "<a" not in text:  # a heading is the link to itself
            text = f'<a href="#{slug(text)}">{text}</a>'
        return f'<h{level} id="{slug(text)}">{text}</h{level}>\n'

    def link(self, text: str, url: str, title: str | None = None) -> str:
        return self.where(url, re.sub(r"</?a\b[^>]*>", "", text))

    def block_code(self, code: str, info: str | None = None) -> str:
        return f"<pre>{colored(code.rstrip(), (info or 'text').split()[0])}</pre>\n"


def slug(text: str) -> str:
    """Return the id of a heading."""
    plain = re.sub(r"<[^>]+>", "", text)
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")


def colored(code: str, language: str = "python") -> str:
    """Return code with the classes that assets/site.css colors."""
    try:
        return highlight(code, get_lexer_by_name(language), FORMATTER).rstrip("\n")
    except ClassNotFound:
        return escape(code)


def html_of(
    text: str, where: Callable[[str, str], str], lesson: Callable[[str], str | None] | None = None
) -> str:
    """Return Markdown as HTML; the arguments are those of `Renderer`."""
    text = re.sub(r"\b([Ll]essons?)\n(?=\d\d\b)", r"\1 ", text)  # one line, one mention
    formulas: list[str] = []

    def hold(found: re.Match) -> str:
        block = found["block"] is not None
        formulas.append(formula(found["block"] or found["inline"], block))
        return f"\ue000{len(formulas) - 1}\ue001"

    parts = CODE.split(text)
    parts[::2] = [FORMULA.sub(hold, part).replace("\\$", "$") for part in parts[::2]]
    render = mistune.create_markdown(
        renderer=Renderer(where, lesson), plugins=["table", "strikethrough"]
    )
    html = render("".join(parts)).replace("<th></th>", "<td></td>")
    html = html.replace("<th>", '<th scope="col">')

    def put(found: re.Match) -> str:
        math, stop = formulas[int(found[1])], found[2]
        if stop and 'display="inline"' in math:  # else a line may begin with the period
            return f'<span class="whole">{math}{stop}</span>'
        return math + stop

    return HELD.sub(put, html)


def formula(latex: str, block: bool) -> str:
    """Return a formula as MathML, which browsers draw without a script."""
    return convert(latex.strip(), display="block" if block else "inline")
