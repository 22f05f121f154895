"""A language model that says what it is told: for tests, documentation and dry runs. Nothing is sent anywhere."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from judges.errors import Declined
from judges.service import ChatReply, ChatRequest
from judges.usage import Usage

__all__ = ["Line", "ScriptedChat"]

Line: TypeAlias = str | ChatReply | Exception
"""What is said, or raised."""


class ScriptedChat:
    """A `Service[ChatRequest, ChatReply]` that answers from a function, or from a list in order."""

    def __init__(self, script: Callable[[ChatRequest], Line] | Sequence[Line], *, name: str = "script") -> None:
        """
        Args:
            script: What to say to a request; or all there is to say, one line after another.
            name: Part of the identity: two scripts of one name share what the cache keeps.
        """
        self._script = script
        self._name = name
        self.asked: list[ChatRequest] = []
        """All requests so far."""

    @property
    def identity(self) -> str:
        """What cache keys and fingerprints call it."""
        return f"scripted {self._name}"

    def __repr__(self) -> str:
        return f"ScriptedChat({self._name!r})"

    async def __call__(self, request: ChatRequest, /) -> ChatReply:
        """What the script says.

        Raises:
            Declined: The list is at its end.
        """
        place = len(self.asked)
        self.asked.append(request)
        line = self._script(request) if callable(self._script) else self._line(place)
        if isinstance(line, Exception):
            raise line
        return line if isinstance(line, ChatReply) else ChatReply(line, request.model, usage=Usage(calls=1))

    async def aclose(self) -> None:
        """Nothing is open."""

    def _line(self, place: int) -> Line:
        lines = self._script
        if callable(lines) or place >= len(lines):
            return Declined(f"{self.identity}: asked {place + 1} times, and there are only {place} replies")
        return lines[place]
