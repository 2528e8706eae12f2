"""Launching: run directory, worker processes, signals, what a person sees. Imports neither torch nor an engine."""
