"""Has Hydra find the settings of tasks that installed packages offer, so that `task=NAME` is all a user types."""

from __future__ import annotations

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from .entries import offered_folders


class OfferedTasks(SearchPathPlugin):  # type: ignore[misc]
    """Puts the `conf` folder of every package that offers tasks behind ours: what is shipped is found first."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append the folders; Hydra calls this whenever it composes."""
        for package, folder in offered_folders():
            search_path.append(package, f"file://{folder}")


def register() -> None:
    """Make the folders part of every composition in this process. Calling it twice is harmless."""
    Plugins.instance().register(OfferedTasks)
