"""What the lessons need: show a picture or code, ask and reveal, check numbers and claims.

A lesson computes on the processor, whatever the machine has: its text speaks of a processor's
numbers, and most of its models are too small for a GPU. Scripts take the GPUs.
"""

import os

from helpers.draw.themed import static
from helpers.lesson.claims import claim
from helpers.lesson.code import show_code, show_diff
from helpers.lesson.pictures import show
from helpers.lesson.questions import answer, predict, reveal
from helpers.lesson.vary import vary

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # for this kernel and for the ranks that it starts
