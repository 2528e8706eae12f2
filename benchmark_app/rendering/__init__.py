"""Renderers. Importing this package loads none."""
