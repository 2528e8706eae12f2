"""What the parent process can see from outside the worker. Imports neither torch nor an engine."""
