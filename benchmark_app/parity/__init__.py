"""The verb `parity`: whether environments do the same wherever they run."""
