"""Stable-Baselines3 behind the adapter contract."""
