"""Python code as HTML, in the colors of the editor around it, which JupyterLab's themes name."""

from html import escape

BOX = "font-family: monospace; font-size: 0.93em; line-height: 1.4; overflow-x: auto; margin: 4px 0"


def code_html(code: str) -> str:
    """Return Python code as a `<pre>`; where no theme names the colors, keywords are bold."""
    from jupyterlab_pygments import JupyterStyle  # here: drawing is light to import
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    spans = HtmlFormatter(style=JupyterStyle, noclasses=True, nowrap=True)
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    colored = highlight(code, lexer, spans).removesuffix("\n")
    return f'<pre style="{BOX}">{colored}</pre>'


def fold_html(title: str, html: str) -> str:
    summary = f'<summary style="cursor: pointer">{escape(title)}</summary>'
    return f'<details class="lab-fold">{summary}{html}</details>'
