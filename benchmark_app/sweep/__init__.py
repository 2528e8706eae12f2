"""Sweeps: which runs there are, running what is left of them, and what became of each. Imports neither torch nor an
engine."""
