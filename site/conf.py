"""How Sphinx makes the site's pages; make.py calls it with what it shall read."""

import tomllib
from html import escape
from pathlib import Path

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

from helpers.syllabus import LESSONS

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
project, version = "Distributed ML Lab", PROJECT["project"]["version"]
author = "the authors of the Distributed ML Lab"
copyright = f"{author}: code MIT, text and figures CC BY 4.0; version {version}"
extensions = ["myst_nb"]
exclude_patterns = ["extra", "static", "doctrees"]
nb_execution_mode = "off"  # the outputs are those that are committed
nb_merge_streams = True
nb_ipywidgets_js = {}  # nothing from another host
nb_code_prompt_show, nb_code_prompt_hide = "Show the code", "Hide the code"
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
suppress_warnings = ["mystnb.mime_priority", "myst.header", "misc.highlighting_failure"]

html_theme, html_title = "pydata_sphinx_theme", project
html_baseurl = PROJECT["tool"]["lab"]["site"]
ICON = "_static/favicon.svg"
html_css_files = ["lab.css"]
html_js_files = [("lesson.js", {"type": "module"})]
html_search_scorer = str(Path(__file__).with_name("static") / "scorer.js")
html_show_sphinx = html_show_sourcelink = html_copy_source = False
html_context = {"default_mode": "auto"}
html_sidebars = {"**": ["page-toc", "sidebar-nav-bs"]}
html_sidebars |= {name: [] for name in ("index", "play", "explore", "search")}
html_theme_options = {
    "logo": {"text": project, "image_light": ICON, "image_dark": ICON},
    "navigation_with_keys": False,  # a timeline's arrows turn no page
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "article_header_start": [],
    "secondary_sidebar_items": [],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}


def mathml(block: bool):
    """Return what writes a formula as MathML, which browsers draw without a script."""

    def visit(self, node):
        text = node.astext()
        if block and ("&" in text or "\\\\" in text) and "begin{" not in text:
            text = rf"\begin{{aligned}}{text}\end{{aligned}}"
        self.body.append(convert(text, display="block" if block else "inline"))
        raise SkipNode

    return visit, None


def described(app, name, template, context, doctree):
    """Give a page its icon, and what a search or a chat says of it: a lesson's question."""
    questions = {f"lessons/{each.stem}": each.question for each in LESSONS}
    words = questions.get(name, PROJECT["project"]["description"])
    head = f'<meta name="description" content="{escape(words)}">'
    head += f'<link rel="icon" type="image/svg+xml" href="{context["pathto"](ICON, 1)}">'
    context["metatags"] = context.get("metatags", "") + head


def setup(app):
    app.add_html_math_renderer("mathml", mathml(False), mathml(True))
    app.connect("html-page-context", described)
