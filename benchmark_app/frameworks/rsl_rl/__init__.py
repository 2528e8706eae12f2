"""rsl_rl behind the adapter contract."""
