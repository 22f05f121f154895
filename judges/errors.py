"""The errors of Judges, and what the engine does about each.

    JudgesError
    ├── InputError          STOP     the caller's data, arguments or configuration are wrong
    ├── ServiceError                 a call of a service failed
    │   ├── RateLimited       RETRY    too many requests: slow down
    │   ├── Unavailable       RETRY    no answer, or the service says it is not well
    │   ├── Declined          RECORD   it refuses this one request
    │   │   └── ContextTooLong           because it doesn't fit into the model's window
    │   ├── NotCached         RECORD   only the cache may answer, and it can't
    │   └── Rejected          STOP     it would refuse every request like this
    │       └── Unauthorised             for want of a key, of money or of such a model
    ├── ReplyError          RECORD   it answered, but not with a verdict
    │   ├── InvalidReply               not what was asked for
    │   ├── TruncatedReply             cut off at the longest reply allowed
    │   ├── EmptyReply                 nothing at all
    │   ├── RefusedReply               the model declined
    │   └── FilteredReply              a content filter took it away
    ├── BudgetReached       STOP     the next call would cost more than is allowed
    ├── TooManyFailed       STOP     too large a share of the judgements failed
    ├── CacheError          STOP     the cache can't be read or written
    └── LedgerError         STOP     the run's folder can't be read or written

Whoever raises classifies; the engine reads `error.disposition` and nothing else.
"""

from enum import Enum
from typing import ClassVar

from judges.usage import Limits

__all__ = [
    "BudgetReached",
    "CacheError",
    "ContextTooLong",
    "Declined",
    "Disposition",
    "EmptyReply",
    "FilteredReply",
    "InputError",
    "InvalidReply",
    "JudgesError",
    "LedgerError",
    "NotCached",
    "RateLimited",
    "RefusedReply",
    "Rejected",
    "ReplyError",
    "ServiceError",
    "TooManyFailed",
    "TruncatedReply",
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

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        limits: Limits | None = None,
        may_be_billed: bool = False,
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds that the service asks to wait, if it does."""
        self.limits = limits
        """What the service's headers say of the account's limits."""
        self.may_be_billed = may_be_billed
        """Whether the service may have done the work and will be paid for it: its reply was lost on the way."""


class RateLimited(ServiceError):
    """The service wants fewer requests."""

    disposition = Disposition.RETRY


class Unavailable(ServiceError):
    """The service did not answer, or says it can't now."""

    disposition = Disposition.RETRY


class Declined(ServiceError):
    """The service refuses this one request."""


class ContextTooLong(Declined):
    """The request doesn't fit into the model's window."""


class NotCached(ServiceError):
    """Only the cache may answer, and it doesn't have this reply."""


class Rejected(ServiceError):
    """The service would refuse every request like this one."""

    disposition = Disposition.STOP


class Unauthorised(Rejected):
    """The service refuses all requests: key, model or quota."""


class ReplyError(JudgesError):
    """The service answered, but not with a verdict."""

    disposition = Disposition.RECORD


class InvalidReply(ReplyError):
    """The reply is not what was asked for."""


class TruncatedReply(ReplyError):
    """The reply was cut off at the longest length allowed."""


class EmptyReply(ReplyError):
    """The reply holds nothing."""


class RefusedReply(ReplyError):
    """The model declined to answer."""


class FilteredReply(ReplyError):
    """A content filter took the reply away."""


class BudgetReached(JudgesError):
    """The next call would cost more than is allowed."""


class TooManyFailed(JudgesError):
    """Too large a share of the judgements failed."""


class CacheError(JudgesError):
    """The cache can't be read or written."""


class LedgerError(JudgesError):
    """The run's folder can't be read or written."""
