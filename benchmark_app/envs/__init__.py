"""The one environment every library trains on. Importing this package loads neither torch nor an engine."""
