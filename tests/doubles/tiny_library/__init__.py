"""A fifth RL library: what a user's own looks like, and an independent reference PPO for the other four."""
