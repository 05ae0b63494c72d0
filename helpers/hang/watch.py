"""The former names of `helpers.hang.monitor`, until the next release."""

from helpers.hang.monitor import Monitor as Watch
from helpers.hang.monitor import the_monitor as the_watch

__all__ = ["Watch", "the_watch"]
