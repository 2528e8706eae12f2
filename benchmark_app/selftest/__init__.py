"""The verb `selftest`: what this machine's numbers are worth, and how many repeats they need."""
