"""Environments in processes of their own on this machine, over shared memory."""
