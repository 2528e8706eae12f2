"""The worker process: entry point and the pipe to its parent."""
