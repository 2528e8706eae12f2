"""The tasks, one file or folder each. Imported as `benchmark_app.tasks`, never by this folder's own name."""
