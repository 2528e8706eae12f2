"""`python -m benchmark_app`."""

from benchmark_app.cli import entry

entry()
