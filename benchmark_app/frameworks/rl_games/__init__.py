"""rl_games behind the adapter contract."""
