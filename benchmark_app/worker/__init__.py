"""The worker process: its entry point."""
