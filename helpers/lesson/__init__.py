"""What the lessons need: show a picture or a diff, ask and reveal, check numbers and claims."""

from helpers.lesson.answers import answer
from helpers.lesson.changes import show_diff, show_orders
from helpers.lesson.claims import claim, quick
from helpers.lesson.pictures import show
from helpers.lesson.questions import predict, reveal
from helpers.lesson.shown import static
from helpers.lesson.skipping import skip
from helpers.lesson.vary import hover, vary
