"""PF-2: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (Program("one attention", {"2 * attention": "attention"}, says="two attentions"),)
