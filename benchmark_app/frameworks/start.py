"""Where every training starts from: one seed gives every library the same random numbers and the same networks."""

from __future__ import annotations

import random

import numpy as np
import torch


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and torch (0 included: rl_games leaves out to seed for it)."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def draw_weights(seed: int, *networks: torch.nn.Module) -> None:
    """Seed, and draw the weights of networks anew in the order given, with torch's own initialisation.

    The order in which a library builds its layers, and an initialisation of its own, would otherwise decide where it
    starts from: actor first, then critic, each from the observations on.
    """
    seed_everything(seed)
    for network in networks:
        for module in network.modules():
            if isinstance(module, torch.nn.Linear | torch.nn.Conv2d):
                module.reset_parameters()
