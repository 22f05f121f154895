"""The errors of Judges, and what the engine does about each.

    JudgesError
    ├── InputError      STOP     the caller's data, arguments or configuration are wrong
    ├── ServiceError             the service a judge calls
    │   ├── RateLimited   RETRY    too many requests: slow down
    │   ├── Unavailable   RETRY    no answer, or the service says it is not well
    │   ├── Declined      RECORD   it refuses this one request
    │   └── Unauthorised  STOP     no key, no money, no such model
    ├── ReplyError      RECORD   it answered, but not with a verdict
    └── LedgerError     STOP     the run's folder can't be read or written

Whoever raises classifies; the engine reads `error.disposition` and nothing else.
"""

from enum import Enum
from typing import ClassVar

__all__ = [
    "Declined",
    "Disposition",
    "InputError",
    "JudgesError",
    "LedgerError",
    "RateLimited",
    "ReplyError",
    "ServiceError",
    "Unauthorised",
    "Unavailable",
]


class Disposition(Enum):
    """What follows from an error."""

    RETRY = "retry"
    """The same call may succeed later."""
    RECORD = "record"
    """This judgement failed; go on with the others."""
    STOP = "stop"
    """The others would fail too."""


class JudgesError(Exception):
    """Any error that Judges raises on purpose. Its message is one line that says where, what, and what to do."""

    disposition: ClassVar[Disposition] = Disposition.STOP


class InputError(JudgesError):
    """The caller's data, arguments or configuration are wrong."""


class ServiceError(JudgesError):
    """A call of a service failed."""

    disposition = Disposition.RECORD


class RateLimited(ServiceError):
    """The service wants fewer requests."""

    disposition = Disposition.RETRY


class Unavailable(ServiceError):
    """The service did not answer, or says it can't now."""

    disposition = Disposition.RETRY


class Declined(ServiceError):
    """The service refuses this one request."""


class Unauthorised(ServiceError):
    """The service refuses all requests: key, model or quota."""

    disposition = Disposition.STOP


class ReplyError(JudgesError):
    """The service answered, but not with a verdict."""

    disposition = Disposition.RECORD


class LedgerError(JudgesError):
    """The run's folder can't be read or written."""
