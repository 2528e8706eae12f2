"""Bundles: the result files of a run. Schema, builders, writing, reading, validation. Standard library only."""
