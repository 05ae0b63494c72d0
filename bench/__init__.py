"""Races: ours beside a rival, in turn. `make bench` runs them all."""
