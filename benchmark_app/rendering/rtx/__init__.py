"""NVIDIA's RTX renderer: as a library, and inside Isaac Sim. Both need an RTX GPU, and were written without one."""
