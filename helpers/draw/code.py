"""Python code as HTML, in the colors of the editor around it.

JupyterLab names the colors of its editor, which its themes set; the site gives them the same names.
Elsewhere, and in a notebook that isn't trusted yet, keywords are bold and comments slanted.
"""

from html import escape

PART = "color: var(--jp-mirror-editor-{}-color, inherit)"
STYLES = {
    "Comment": f"{PART.format('comment')}; font-style: italic",
    "Keyword": f"{PART.format('keyword')}; font-weight: bold",
    "Operator.Word": f"{PART.format('keyword')}; font-weight: bold",
    "Literal.String": PART.format("string"),
    "Literal.Number": PART.format("number"),
    "Name.Function": PART.format("def"),
    "Name.Class": PART.format("def"),
    "Name.Builtin": PART.format("builtin"),
}
BOX = "font-family: monospace; font-size: 0.93em; line-height: 1.4; overflow-x: auto; margin: 4px 0"


def code_html(code: str) -> str:
    """Return Python code as a `<pre>`."""
    from pygments.lexers import PythonLexer  # here: drawing is light to import

    parts = []
    for kind, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens(code):
        name = str(kind).removeprefix("Token.")
        style = next((style for key, style in STYLES.items() if name.startswith(key)), "")
        parts.append(f'<span style="{style}">{escape(text)}</span>' if style else escape(text))
    return f'<pre style="{BOX}">{"".join(parts)}</pre>'


def fold_html(title: str, html: str) -> str:
    """Return HTML that a click on its title opens."""
    summary = f'<summary style="cursor: pointer">{escape(title)}</summary>'
    return f'<details class="lab-fold">{summary}{html}</details>'
