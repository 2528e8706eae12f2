"""What a checkpoint was made for, in a small JSON file beside it, so that a mismatch is found before anything starts.

A policy network loads into another activation function without complaint and plays badly: only the card knows.
Standard library only.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmark_app.bundle.write import write_json_file
from benchmark_app.settings import Settings

# What has to agree for a policy to mean the same: settings that change the network or what its numbers stand for.
AGENT = ("algorithm", "hidden_layers", "activation", "normalize_observations")


def card_path(checkpoint: Path) -> Path:
    """The card of a checkpoint: `policy.pt` has `policy.pt.json`."""
    return checkpoint.with_name(checkpoint.name + ".json")


def describe(settings: Settings) -> dict[str, Any]:
    """What the settings make a policy for."""
    return {
        "framework": settings.framework.name,
        "task": settings.task.name,
        **{f"agent.{key}": getattr(settings.agent, key) for key in AGENT},
    }


def write_card(checkpoint: Path, settings: Settings) -> None:
    """Describe a checkpoint that was just saved."""
    write_json_file({"gym_id": settings.task.gym_id, **describe(settings)}, card_path(checkpoint))


def mismatches(checkpoint: Path, settings: Settings) -> list[str]:
    """Every way in which a checkpoint was made for other settings, as `setting=value: what the checkpoint needs`.

    Empty when all agrees, and when there is no card: a checkpoint from elsewhere is for its library to refuse.
    """
    try:
        card = json.loads(card_path(checkpoint).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        return [f"checkpoint={checkpoint}: its card {card_path(checkpoint).name} cannot be read ({error})"]
    if not isinstance(card, dict):
        return [f"checkpoint={checkpoint}: its card {card_path(checkpoint).name} is no JSON object"]
    return [
        f"{key}={here}: the checkpoint {checkpoint.name} was made with {key}={card[key]}"
        for key, here in describe(settings).items()
        if key in card and card[key] != here
    ]
