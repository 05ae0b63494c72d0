"""The grades of many submissions as one HTML page: no script, nothing from elsewhere.

Whatever comes from a submission is written as text. The pictures of who waited for whom are images,
in which nothing can run.
"""

from collections import Counter
from html import escape

from helpers.grade.many import Graded, Grades
from helpers.grade.verdict import COLORS, EMPTY, Verdict, image

STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; --pass: PASS; --fail: FAIL; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; padding: 0 1em; max-width: 1400px; }
h1 { font-size: 1.5em; margin: 0 0 .2em } h2 { font-size: 1.15em; margin: 2em 0 .6em }
p.sub { margin: 0 0 1.2em; opacity: .75 }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: 4px 9px; border-bottom: 1px solid var(--line); text-align: left;
  white-space: nowrap }
thead th { position: sticky; top: 0; background: Canvas; font-weight: 600 }
th.task, td.v { text-align: center } td.n { text-align: right }
tbody tr:hover { background: var(--soft) }
a { color: inherit; text-decoration: none } th a:hover, td a:hover { text-decoration: underline }
.v b { display: inline-block; min-width: 1.6em; border-radius: 3px; color: #fff }
.p b { background: var(--pass) } .f b { background: var(--fail) }
.o b { color: inherit; border: 1px dashed var(--line) }
.bar { display: inline-block; vertical-align: middle; width: 90px; height: 9px; margin-right: 8px;
  background: var(--soft); border: 1px solid var(--line) }
.bar i { display: block; height: 100%; background: var(--pass) }
td.why { white-space: normal; min-width: 22em; max-width: 60em } td.what { white-space: normal }
details { border-left: 3px solid var(--line); padding: 2px 0 2px 12px; margin: .5em 0 }
summary { cursor: pointer } pre { overflow-x: auto; font-size: 12px; background: var(--soft);
  padding: 8px } .r { margin: .5em 0 } .k { opacity: .7 }
""".replace("PASS", COLORS["PASS"]).replace("FAIL", COLORS["FAIL"])

SIGNS = {True: ("p", "✓", "passed"), False: ("f", "✗", "failed")}


def html_of(grades: Grades, title: str = "Grades") -> str:
    """The page: who has what, what each task gave trouble with, and every reason."""
    graded = [one for one in grades.graded if one.verdicts]
    count = sum(len(one.verdicts) for one in graded)
    sub = f"{len(graded)} submissions, {len(grades.tasks)} tasks, {count} checks"
    if grades.seconds:
        sub += f", {grades.seconds:.0f} s"
    if grades.interrupted:
        sub += ". Stopped by hand: what is empty wasn't graded"
    limits = _usual_limits(graded)
    body = [
        f"<h1>{escape(title)}</h1><p class=sub>{escape(sub)}.<br>Limits {escape(limits)}.</p>",
        _people(grades),
        _tasks(grades),
        "<h2>All reasons</h2>",
        *(_reasons(number, one, limits) for number, one in enumerate(grades.graded)),
    ]
    head = f"<meta charset=utf-8><title>{escape(title)}</title><style>{STYLE}</style>"
    head += '<meta name=viewport content="width=device-width">'
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    head += f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return f"<!doctype html><html lang=en><head>{head}</head><body>{''.join(body)}</body></html>\n"


def _people(grades: Grades) -> str:
    heads = "".join(
        f'<th class=task title="{escape(t.title)}"><a href="#t-{t.id}">{t.id}</a></th>'
        for t in grades.tasks
    )
    rows = []
    for number, one in enumerate(grades.graded):
        cells = "".join(_cell(one.verdicts.get(t.id)) for t in grades.tasks)
        rows.append(
            f'<tr><td><a href="#s-{number}">{escape(one.name)}</a></td>'
            f"<td>{_bar(one.points, grades.of)}{one.points} of {grades.of}</td>{cells}</tr>"
        )
    return (
        "<p class=sub>✓ passed, ✗ failed, – not begun. Point at a sign to see its reason; all are "
        "below.</p>"
        f"<div class=wide><table><thead><tr><th>submission</th><th>points</th>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(verdict: Verdict | None) -> str:
    if verdict is None:
        return "<td class=v></td>"
    kind, sign, word = SIGNS[verdict.passed]
    if verdict.kind in EMPTY:
        kind, sign, word = "o", "–", verdict.kind
    words = escape(f"{word}: {verdict.reason}" if verdict.reason else word)
    return f'<td class="v {kind}" title="{words}"><b aria-label="{word}">{sign}</b></td>'


def _tasks(grades: Grades) -> str:
    rows = []
    for task in grades.tasks:
        verdicts = [o.verdicts[task.id] for o in grades.graded if task.id in o.verdicts]
        passed = sum(v.passed for v in verdicts)
        wrong = Counter(v.reason for v in verdicts if not v.passed and v.kind not in EMPTY)
        often = "; ".join(f"{n} × {reason}" for reason, n in wrong.most_common(2))
        begun = sum(v.kind not in EMPTY for v in verdicts)
        rows.append(
            f'<tr id="t-{task.id}"><td><b>{task.id}</b></td>'
            f"<td class=what>{escape(task.title)}</td>"
            f"<td class=n>{task.points}</td><td>{_bar(passed, len(verdicts))}{passed} of "
            f"{len(verdicts)}</td><td class=n>{begun}</td><td class=why>{escape(often)}</td></tr>"
        )
    return (
        "<h2>Where the class struggled</h2><div class=wide><table><thead><tr><th>task</th>"
        "<th>what</th><th>points</th><th>passed</th><th>begun</th><th>most frequent reasons</th>"
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _usual_limits(graded: list[Graded]) -> str:
    """The limits that most checks ran under, in words; what differs is said beside its reason."""
    found = Counter(str(v.limits) for one in graded for v in one.verdicts.values() if v.limits.held)
    return found.most_common(1)[0][0] if found else "held: none"


def _reasons(number: int, one: Graded, usual: str) -> str:
    rows = []
    for v in one.verdicts.values():
        _, sign, word = SIGNS[v.passed]
        details = f"<details><summary>details</summary><pre>{escape(v.details)}</pre></details>"
        other = f"; limits {v.limits}" if v.limits.held and str(v.limits) != usual else ""
        rows.append(
            f"<div class=r>{sign} <b>{v.task.id}</b> {word} <span class=k>({escape(v.kind)}, "
            f"{v.seconds:.1f} s{escape(other)})</span> {escape(v.reason)}"
            f"{details if v.details else ''}{image(*v.picture) if v.picture else ''}</div>"
        )
    failed = sum(not v.passed for v in one.verdicts.values())
    # The mark stands inside, so that a browser opens the part when it is gone to.
    return (
        f"<details><summary><b>{escape(one.name)}</b>: {one.points} points, {failed} not passed"
        f'</summary><div id="s-{number}"></div>{"".join(rows)}</details>'
    )


def _bar(part: int, whole: int) -> str:
    share = 100 * part / whole if whole else 0
    return f'<span class=bar><i style="width: {share:.0f}%"></i></span>'
