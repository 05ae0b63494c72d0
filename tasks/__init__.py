"""What the work's process sees of each task: facts, hints, and how its work is run on a case.

What is right stands in `tasks.truth`, which is a folder here and an archive in the student edition.
"""

from pathlib import Path

__path__.append(str(Path(__file__).with_name("truth.zip")))  # Python imports from archives too
