"""Measuring inside the worker."""
