"""Several hosts, asked as one. NumPy only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .cores import current_core
from .link import EnvLink, LinkError


class Hosts:
    """Everything goes to all hosts before any is waited for, so that they work side by side.

    Args:
        links: Links to the hosts, in the order of their rows.

    Attributes:
        lost: Why they cannot be asked anything any more; empty: they can.
    """

    def __init__(self, links: Sequence[EnvLink]) -> None:
        self._links = links
        # By the core this thread may be on: see `_posting_order`.
        self._orders = {
            here.core: sorted(links, key=lambda link: link is here) for here in links if here.core is not None
        }
        self.lost = ""

    def step(self) -> None:
        """Have each take a step with its board's actions.

        Raises:
            LinkError: A host is gone; from then on nothing can be asked.
            Exception: What a host raised; of several, that of the first rows.
        """
        self._exchange(lambda link: link.post_step(), lambda link, soon: link.wait_step(soon=soon))

    def ask(self, name: str, arguments: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Have each do one of `host.COMMANDS`, with arguments of its own; their answers, in the order of their rows.

        Raises:
            As `step`.
        """
        each = dict(zip(self._links, arguments, strict=True))
        found = self._exchange(lambda link: link.post(name, each[link]), lambda link, _: link.wait())
        return [found[link] for link in self._links]

    def _exchange(self, post: Callable[[EnvLink], None], wait: Callable[[EnvLink, bool], Any]) -> dict[EnvLink, Any]:
        """Post to every link, then wait for each; what each gave, by link.

        Args:
            post: Posts to a link.
            wait: Waits for a link, knowing whether another has answered already: then this one will soon.

        Raises:
            LinkError: A host is gone; from then on nothing can be asked.
            Exception: What a host raised; of several, that of the first rows.
        """
        if self.lost:
            raise LinkError(self.lost)
        found: dict[EnvLink, Any] = {}
        errors: dict[EnvLink, Exception] = {}
        self.lost = "an exchange with the environments was broken off"  # unless it comes to an end
        order = self._posting_order()
        try:
            for link in order:
                post(link)
            # The one of this core has it while this thread sleeps; for the others it can stay awake afterwards.
            for link in reversed(order):
                try:
                    found[link] = wait(link, link is not order[-1])
                except LinkError:
                    raise
                except Exception as error:
                    errors[link] = error
        except LinkError as error:
            self.lost = str(error)
            raise
        self.lost = ""
        if errors:
            raise next(errors[link] for link in self._links if link in errors)
        return found

    def _posting_order(self) -> Sequence[EnvLink]:
        """The links; last the one to the host that shares this thread's core.

        A host that is woken takes its core at once, and this thread would wait there while others are still asleep.
        """
        return self._orders.get(current_core(), self._links) if self._orders else self._links
