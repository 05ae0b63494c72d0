"""Who waits for whom, in a notebook.

The ranks report their waits as data, and only who shows a report draws it. In a notebook that is
the notebook itself, once `draw_in` has told it how; `helpers/__init__.py` does so.
"""

from html import escape


def show_report(report) -> None:
    """Display a `LaunchReport`: its text, then the picture of the ranks that waited."""
    from IPython.display import display

    style = "font-family: monospace; white-space: pre-wrap; word-break: normal"
    words = {"text/html": f'<pre style="{style}">{escape(str(report))}</pre>'}
    display(words | {"text/plain": repr(report)}, raw=True)
    if report.failure and report.failure.waits:
        display(report.failure.waits)


def draw_in(shell) -> None:

    def drawn(found, **_):
        from helpers.draw import who_waits  # matplotlib, where it is needed

        return who_waits(found)._repr_mimebundle_()

    shown = shell.display_formatter
    shown.mimebundle_formatter.for_type_by_name("helpers.waits", "WaitGraph", drawn)
    report = ("helpers.ranks.failure", "LaunchReport")
    shown.ipython_display_formatter.for_type_by_name(*report, show_report)
