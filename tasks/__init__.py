"""Each task: facts, hints, how its work is observed, and its cases and mutants.

The student edition has the last two, and the answers to what lessons ask, in an archive.
"""

from pathlib import Path

__path__.append(str(Path(__file__).with_name("whole.zip")))  # Python imports from archives too
