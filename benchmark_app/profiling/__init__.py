"""Measuring: `host` from the light parent process, `worker` inside the measured one."""
