"""`python -m helpers.doctor`: print the report; exit code 1 where something must be done first."""

import sys

from helpers.doctor import doctor
from helpers.plain_errors import plain_errors

with plain_errors():
    report = doctor()
print(report)
sys.exit(0 if report.ready else 1)
