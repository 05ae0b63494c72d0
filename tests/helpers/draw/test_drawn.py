"""In each kind of picture all lies in its place, and no text sticks out or covers another.

`drawn.json` has the words and the parts of each, as somebody has looked at it. After a change on
purpose `python -m tests.helpers.draw.test_drawn` writes it anew, and build/drawn/*.svg: look at
them on a light page and on a dark one.
"""

import base64
import io
import itertools
import json
import math
import re
import zlib
from html import unescape
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from PIL import Image

from helpers.clone import ROOT
from helpers.draw import bars, cells, curves, grid, lanes, ring, style, who_waits
from helpers.draw import picture as on_paper
from helpers.draw.picture import canvas, write
from helpers.draw.style import BLUE, DARK, INK, LIGHT, ORANGE, VERMILLION, painted
from helpers.draw.themed import PICTURE
from helpers.schedules import dualpipe_v, interleaved, one_f_one_b, zb_h1
from helpers.simulate import Costs, simulate
from helpers.trace import COLLECTIVES, Counter, Event, Trace
from helpers.waits import Wait, WaitGraph
from tests.said import said
from tests.traces import data_parallel, pipeline

KEPT = Path(__file__).with_name("drawn.json")
LOSSES = [2 + 6 * math.exp(-i / 10) for i in range(40)]
UP = {f"run {i}": [loss + i * 0.001 if i < 5 else loss + i for loss in LOSSES] for i in range(8)}
PAIRS = Costs(forward=0.5, input_grad=0.5, weight_grad=0.25, pair_share=0.6)
SENT = Costs(latency=0.2, activation_bytes=4)
ODD = [Event(3, "tokenise the text", 0, 1), Event(12345, "W", 0.5, 2, "my lane")]
STEPS = [Event(0, "F", i, i + 1, info={"layer": i}) for i in range(20)]
WHY = {"cause": "dependency", "for": "0B0", "until": 1}, {"cause": "memory"}, {"cause": "finished"}
CAUSES = [Event(0, "wait", 4 * i, 4 * i + 4, info=info) for i, info in enumerate(WHY)]
CROWD = [[Event(rank, "F", 0, 1) for rank in range(ranks)] for ranks in (101, 10_000)]
READS = [Event(0, "F", 0, 2), Event(0, "input", 1, 3), Event(0, "all-reduce", 3, 4)]
COUNTED = [Counter(0, "memory", 0, 2e9), Counter(1, "memory", 0, 1e9), Counter(0, "memory", 1, 0)]
BOTH = Wait(0, (1, 3), "sends", "a.py:3", "  send(x, 1)"), Wait(1, (0,), "sends")
MANY = [Wait(a, tuple(b for b in range(5) if b != a), "waits") for a in range(5)]
SIZES = {"weights": 100.0, "gradients": 3.0, "optimizer": 0.3, "bubble": 20.0}
LOG = {  # an axis that says units, or the powers of two that were tried
    "ranks": (1, 2, 4, 8, 16, 32, 64),
    "odd ranks": (1, 3, 64),
    "bytes of the tensor": (400, 3e3, 2e6),
    "time (s)": (0.0005, 0.01, 2),
    "parameters": (8e5, 1e8, 2e9),
}
TABLES = {"x": {"rank 0": ["F0", ""]}, "a longer name": {"rank 0": ["F1", "B0"]}}
PICTURES = {
    "lanes": lambda: lanes(data_parallel()),
    "deep": lambda: lanes(pipeline(stages=13, micro_batches=1)),
    "nothing": lambda: lanes(Trace([], {"title": "GPipe"})),
    "a moment": lambda: lanes(Trace([Event(0, "F", 5, 5)])),
    "odd kinds": lambda: lanes(Trace(ODD)),
    "101 ranks": lambda: lanes(Trace(CROWD[0])),
    "long title": lambda: lanes(Trace(STEPS, {"title": "a very long title " * 12})),
    "chunks": lambda: lanes(simulate(interleaved(2, 4, chunks=2)).trace),
    "messages": lambda: lanes(simulate(zb_h1(3, 4), SENT).trace),
    "pale": lambda: lanes(simulate(interleaved(2, 4)).trace, pale=lambda e: e.kind == "B"),
    **{f"{m} long": lambda m=m: lanes(simulate(one_f_one_b(8, m)).trace) for m in (8, 24, 120)},
    "pairs": lambda: lanes(simulate(dualpipe_v(2, 4), PAIRS).trace),
    "steps": lambda: lanes(Trace([Event(0, "F", 0, 12)], {"unit": "steps"})),
    "reads": lambda: lanes(Trace(READS)),
    "two": lambda: lanes({"a": pipeline(2, 2), "b": data_parallel()}, "t"),
    "causes": lambda: lanes(Trace([*CAUSES, Event(0, "F", 12, 13)])),
    "memory": lambda: lanes(Trace([Event(r, "F", 0, 1) for r in (0, 1)], {}, COUNTED)),
    "curves": lambda: curves({"a": LOSSES}, "mine", floor=1.9),
    "same": lambda: curves(dict.fromkeys("abc", LOSSES)),
    "crowded": lambda: curves(UP, "a title " * 20, quiet=["run 7"]),
    "log": lambda: curves({f"at {i}": {2**i: 3.0} for i in range(8)}, log="xy"),
    **{x: lambda x=x: curves({"a": dict.fromkeys(LOG[x], 1.0)}, x=x, log="x") for x in LOG},
    "broken": lambda: curves({"a": [*LOSSES, math.nan], "b": []}),
    "long name": lambda: curves({"a name that is much too long " * 3: [1e-9]}),
    "bars": lambda: bars({"one": SIZES, "two": {"mine": 4.0}}, text=str),
    "limit": lambda: bars({"": {"a": 5, "b": 0.1}}, "t", limit=4),
    "named": lambda: cells({"r 0": ["F0", ""]}, columns=[0, 1], colors={"F": BLUE}),
    "tables": lambda: cells(TABLES, colors={"F": BLUE, "F1": ORANGE}),
    "counts": lambda: grid({"x": [[0, 9], [1, math.nan]]}),
    "ring": ring,
    "halfway": lambda: ring(4, 3),
    "done": lambda: ring(3, 4),
    "waits": lambda: who_waits(WaitGraph(BOTH, (2,), {3: "computes"})),
    "all wait": lambda: who_waits(WaitGraph(MANY)),
}


def ticks(ax):
    """The labels of both axes that are seen."""
    every = [(t, 0, ax.get_xlim()) for t in ax.get_xticklabels()]
    every += [(t, 1, ax.get_ylim()) for t in ax.get_yticklabels()]
    seen = [t for t, k, ends in every if min(ends) <= t.get_position()[k] <= max(ends)]
    return [*seen, ax.xaxis.label] if ax.axison else []


def held(ax) -> list[tuple[str, list[float]]]:
    """Return the look of each text, box and line, and its least, mean and largest pixels x, y."""
    if ax.late:  # the names of curves
        ax.late(ax)
    found = [(f"axes {[t.get_text() for t in ticks(ax)]}", ax.transAxes, [(0, 0), (1, 1)])]
    for t in ax.texts:
        look = f"{t.get_text()}|{t.get_size():g} {t.get_weight()} {t.get_color()} {t.get_ha()}"
        found.append((look, t, [t.get_position()]))
    for box in ax.patches:
        colors = [to_hex(color, True) for color in (box.get_facecolor(), box.get_edgecolor())]
        look = f"{colors} {box.get_alpha()} {box.get_hatch()} {box.get_lw():g} {box.get_zorder():g}"
        corners = box.get_path().vertices.reshape(-1, 5, 2)[:, :4].reshape(-1, 2)
        found.append((f"box {look}", box, corners))
    for line in ax.lines:
        look = f"{line.get_color()} {line.get_lw():g} {line.get_marker()} {line.get_alpha()}"
        found.append((f"line {look} {line._unscaled_dash_pattern}", line, line.get_xydata()))
    for many in ax.collections:  # of memory, and arrows
        points = many.get_datalim(ax.transData).get_points()
        found.append((type(many).__name__, ax.transData, points))
    places = []
    for look, artist, points in found:
        at = getattr(artist, "get_transform", lambda t=artist: t)().transform(points)
        at = at[np.isfinite(at).all(axis=1)]
        ends = [at.min(0), at.mean(0), at.max(0)] if len(at) > 1 else at
        places.append((look, np.round(ends, 1).flatten().tolist()))
    return places


def check_layout(ax) -> None:
    """No text sticks out or touches another one."""
    draw = FigureCanvasAgg(ax.figure)
    draw.draw()
    written = [t for t in (*ax.texts, *ticks(ax)) if t.get_text() and t.get_visible()]
    drawn = draw.get_renderer()
    boxes = [(t.get_text(), t.get_window_extent(drawn).extents) for t in written]
    for text, box in boxes:
        inside = min(box) >= -1 and box[2] <= ax.wide + 1 and box[3] <= ax.high + 1
        assert inside, f"{text!r} sticks out: {box}"
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        beside = min(a[2], b[2]) - max(a[0], b[0]) <= 1
        shared = min(a[3], b[3]) - max(a[1], b[1])  # rows may touch: letters don't fill them
        apart = beside or shared <= 0.3 * min(a[3] - a[1], b[3] - b[1])
        assert apart, f"{one!r} and {other!r} overlap"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_holds_what_it_held_when_somebody_looked(name):
    ax, kept = PICTURES[name](), json.loads(KEPT.read_text(encoding="utf-8"))[name]
    assert ax.alt == kept.pop(0) and DARK["background"].lower() in ax.svg()
    places = held(ax)
    assert [look for look, _ in places] == [look for look, _ in kept]
    for (look, place), (_, before) in zip(places, kept, strict=True):
        assert place == pytest.approx(before, abs=0.3), look
    check_layout(ax)


def test_what_is_drawn_later_counts_and_a_hundred_thousand_events_are_pixels():
    def high(ax):
        ax.late(ax)
        (name,) = (text for text in ax.texts if text.get_text() == "a: 2.121")
        return name.get_position()[1]

    ax = curves({"a": LOSSES})
    ax.set_ylim(2, 100)
    assert high(ax) > high(curves({"a": LOSSES})), "further down"
    before = len(ax.get_children())
    ax.svg()
    assert len(ax.get_children()) == before, "drawing it leaves nothing behind"
    ax = lanes({"1F1B": simulate(one_f_one_b(4, 8)).trace})
    assert "#123456" not in ax.svg() and ax.get_xlim() == (0, 33)  # the axis is the time
    ax.axvline(24, color="#123456")
    assert "#123456" in ax.svg()
    crowd = [Event(n % 8, "FB"[n // 8 % 2], n // 8, n // 8 + 1) for n in range(100_000)]
    svg = lanes(Trace(crowd)).svg()
    assert len(svg) < 400_000 and "<image" in svg


NAN = math.nan
REFUSED = {
    "needs at least one trace: lanes({'measured': trace})": lambda: lanes({}),
    "10,000 ranks are too many to draw, and 256 are the most": lambda: lanes(Trace(CROWD[1])),
    "needs at least one run: {'name': [values]}": lambda: curves({}),
    "a has 0 at 1, and a logarithmic axis": lambda: curves({"a": [1.0, 0.0]}, log="y"),
    "needs at least one row": lambda: bars({}),
    "weights of a is nan: a bar shows 0 or more": lambda: bars({"a": {"weights": NAN}}),
    "cells() needs at least one cell": lambda: cells({"a": []}),
    "grid() needs at least one number": lambda: grid([[]]),
    "a ring of 5 ranks can't be drawn: take 2, 3 or 4": lambda: ring(5),
    "there is no step 5: choose from 0 to 4": lambda: ring(3, 5),
    "so there is nothing to draw": lambda: who_waits(WaitGraph(())),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_drawn_is_said_in_a_sentence(words):
    assert words in said(REFUSED[words])


SVG = "{http://www.w3.org/2000/svg}"
ALT = 'Alt with "quotes" & <signs>, 50 %'


def picture():
    ax = canvas(60)
    ax.alt = ALT
    on_paper.box(ax, 10, 10, 20, 20, BLUE)
    on_paper.box(ax, 40, 10, 40, 20, style.HATCHED)
    write(ax, 50, 40, "5 < 6 & 2.428 #D9DDE2", 10, at="center")
    return ax


SHOWN = {"boxes": picture, "lanes": lambda: lanes(pipeline()), "curves": lambda: curves({"a": [3]})}


@pytest.mark.parametrize("name", SHOWN)
def test_an_svg_refers_to_nothing_outside_and_says_both_colors_after_one_for_old_viewers(name):
    text = SHOWN[name]().svg()
    assert text == SHOWN[name]().svg()
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img" and root.get("width") == "900"
    assert root.find(f"{SVG}title").text
    if name == "boxes":
        assert root.get("height") == "88" and root.find(f"{SVG}title").text == ALT
        assert [t.text.strip() for t in root.iter(f"{SVG}text")] == ["5 < 6 & 2.428 #D9DDE2"]
    assert f"fill: light-dark({INK.lower()}" in root.get("style"), "of what a student adds in black"
    addresses = set(re.findall(r"https?://[^\s\"']+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    used = set(re.findall(r"url\(#([^)]+)\)", text))
    assert used <= set(re.findall(r'id="([^"]+)"', text))
    found = "; ".join(value for node in root.iter() for key, value in node.items() if key != "id")
    assert f"light-dark({LIGHT['background'].lower()}" in found
    for light, dark in zip(LIGHT.values(), DARK.values(), strict=True):
        both = rf": light-dark\({light}, {dark}\)"
        twice = re.sub(rf"(fill|stroke): {light}; \1{both}", "", found, flags=re.I)
        assert light.lower() not in twice.lower()


def test_a_notebook_gets_an_image_that_follows_the_theme_and_a_built_lesson_a_png(monkeypatch):
    shown = picture()._repr_mimebundle_()
    html = shown["text/html"]
    assert unescape(re.search('alt="([^"]*)"', html)[1]) == ALT == shown["text/plain"]
    assert 'width="900"' in html and html.count('"') == 8 and "\n" not in html
    source = unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', html)[1])
    assert ElementTree.fromstring(source).get("width") == "900"
    assert "color-scheme: light dark" in source and "light-dark(" in source
    monkeypatch.setenv("LAB_STATIC", "1")
    data, facts = picture()._repr_mimebundle_()
    assert "text/html" not in data, "GitHub shows no picture inside of HTML"
    assert facts == {"image/png": {"alt": ALT, "width": 900}}
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert image.size == (1350, 132) and len(image.getcolors()) <= 256
    assert image.convert("RGB").getpixel((51, 51)) == pytest.approx((0, 0x72, 0xB2), abs=8)
    assert zlib.decompress(base64.b64decode(data[PICTURE]["svg"])).decode() == picture().svg()


def test_files(tmp_path):
    assert picture().save(tmp_path / "p.svg").read_text("utf-8") == picture().svg()
    assert picture().save(tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    wrong = said(picture().save, tmp_path / "p.pdf")
    assert wrong.endswith("p.pdf: the name must end in .svg or .png")


def contrast(a: str, b: str) -> float:
    lights = []
    for color in (a, b):
        shares = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
        lights.append(0.2126 * r + 0.7152 * g + 0.0722 * b)
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_letters_can_be_read_and_kinds_differ_by_more_than_a_hue():
    colors = [style.look(kind).color for kind in (*style.LOOKS, *COLLECTIVES)]
    assert all(contrast(color, style.ink_on(color)) >= 4.5 for color in colors)
    assert contrast(style.LOOKS["F"].color, style.LOOKS["B"].color) > 2
    letters = [style.LOOKS[kind].letter for kind in ("F", "B", "I", "W", "update", "input")]
    assert len(set(letters)) == len(letters)
    for each in (LIGHT, DARK):
        for color in (each["text"], each["muted"]):
            assert min(contrast(color, each[behind]) for behind in ("background", "band")) >= 4.5


def test_css_gets_its_colors_from_the_palette():
    css = "a { color: var(--palette-vermillion); b: var(--own); c: var(--palette-dark-band) }"
    assert painted(css) == f"a {{ color: {VERMILLION}; b: var(--own); c: {DARK['band']} }}"
    assert painted("var(--palette-F) var(--palette-on-F)") == f"{style.look('F').color} #FFFFFF"
    assert style.see_through(VERMILLION, 0.2) == "rgba(213, 94, 0, 0.20)"
    with pytest.raises(KeyError, match="red"):
        painted("a { color: var(--palette-red) }")


HUE = r"""["']#[0-9a-fA-F]{3,8}["']|\brgba?\(|\b(?:tab|xkcd):\w+|\bcolou?rs?\s*=\s*["'][#\w]"""
DRAWINGS = ("notebooks/source/*.py", "helpers/draw/*.py", "helpers/cluster/*.py")
TEXTS = ("py", "css", "js", "mjs", "html", "md")


def test_no_file_writes_a_color_of_the_palette_and_no_drawing_any_other():
    palette = ROOT / "helpers/draw/style.py"
    hexes = {color[1:] for color in style.PALETTE.values()} - {"FFFFFF", "000000"}
    numbers = {", ".join(str(int(h[i : i + 2], 16)) for i in (0, 2, 4)) for h in hexes}
    both = [*(f"#{h}" for h in hexes), *(rf"rgba?\({n}" for n in numbers)]
    ours = re.compile("|".join(both), re.I)
    tops = [top for top in ROOT.glob("[!.]*/") if top.name not in ("tests", "build", "my-lab")]
    paths = {path for top in tops for end in TEXTS for path in top.rglob(f"*.{end}")} - {palette}
    drawings = {path for each in DRAWINGS for path in ROOT.glob(each)} - {palette}
    assert drawings < paths
    found = {str(p): ours.findall(p.read_text("utf-8")) for p in paths}
    for path in drawings:
        code = re.sub(r"^#.*", "", path.read_text("utf-8"), flags=re.M)
        found[str(path)] += re.findall(HUE, code)
    found = {path: colors for path, colors in found.items() if colors}
    assert not found, f"take a name of helpers.draw.style, or write var(--palette-…): {found}"


if __name__ == "__main__":
    looked = Path("build/drawn")
    looked.mkdir(parents=True, exist_ok=True)
    drawn = {name: make() for name, make in PICTURES.items()}
    for name, ax in drawn.items():
        ax.save(looked / f"{name}.svg")
    rows = [f"{json.dumps(name)}: {json.dumps([ax.alt, *held(ax)])}" for name, ax in drawn.items()]
    KEPT.write_text("{" + ",\n".join(rows) + "}\n", encoding="utf-8")
