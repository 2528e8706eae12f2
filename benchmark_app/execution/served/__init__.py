"""Environments served by another process, perhaps of another interpreter, over a socket of this machine."""
