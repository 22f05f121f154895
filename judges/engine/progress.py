"""How far an evaluation has come. No terminal here: whoever shows it, implements `Progress`."""

from dataclasses import dataclass
from typing import Protocol

from judges.usage import NOTHING_USED, Usage

__all__ = ["Counts", "Progress"]


@dataclass(slots=True)
class Counts:
    """Judgements by what became of them."""

    total: int = 0
    resumed: int = 0
    """Made by an earlier start of the same run."""
    shared: int = 0
    """Made for another case with the very same content."""
    verdicts: int = 0
    abstained: int = 0
    failed: int = 0
    repaired: bool = False
    """Whether the ledger's last line was torn and has been cut off."""

    last_failure: str = ""
    """Kind and message of the last failed judgement."""
    usage: Usage = NOTHING_USED
    """What the calls of services used, of the judgements made now."""

    @property
    def made(self) -> int:
        """Judgements made now."""
        return self.verdicts + self.abstained + self.failed

    @property
    def done(self) -> int:
        """Judgements that exist."""
        return self.resumed + self.shared + self.made


class Progress(Protocol):
    """Is told of each step."""

    def __call__(self, counts: Counts, /) -> None:
        """`counts` is the same object each time; read it now."""
        ...
