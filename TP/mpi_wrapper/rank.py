"""`python -m mpi_wrapper.rank SECONDS SCRIPT …`: one rank, whose end is the end of all.

Runs the script as `python -m mpi4py` does: an exception on one rank ends every rank, where the
others would wait for it forever. After so many seconds a rank writes down where it stands and ends.
"""

import faulthandler
import sys

from mpi4py.run import main

if __name__ == "__main__":
    faulthandler.dump_traceback_later(float(sys.argv.pop(1)), exit=True)
    main()
