"""How many requests a second an account may take, found out from what it accepts and refuses.

A service may enforce its limit as a bucket that fills evenly, as a sliding window or as a fixed one, tell of it or not.
So the pace is learned in three stages:

1. *Ramp.* It starts at a few requests a second and doubles with each round trip, until the calls in flight limit it.
   Where it is stated how many calls the service bears, all of them go as soon as a first one was accepted; if that was
   too many, it starts again as gently as without.
2. *Refused.* Everything pauses, and what was accepted so far, over the time it took, is the first guess at the limit.
3. *Held.* Between two refusals the account was used up at both ends, so what it accepted in between is its limit. The
   pace starts a little below this, stays near it for a while and then climbs ever faster, for the limit may have
   risen; the next refusal, after a longer while each time, corrects the figure.

Sources of the ideas: the slow start of Jacobson 1988 (Congestion avoidance and control); the cubic curve around the
last known limit of Ha, Rhee and Xu 2008 (CUBIC).
"""

from bisect import bisect_left
from math import inf

__all__ = ["LONGEST_HEEDED", "Pace"]

_FIRST_RATE = 20.0
"""Requests a second."""
_FIRST_PAUSE = 0.1
"""Seconds; doubled as long as nothing gets through."""
_LONGEST_PAUSE = 15.0
_SHORT_PAUSE = 1.5
"""In requests: the pause after a refusal, once the limit is known."""
_LONGEST_SHORT_PAUSE = 2.0
_SLACK = 0.05
"""Seconds that the event loop may be late without making the pace slower."""
_MEMORY = 60.0
"""Seconds over which accepted requests are counted."""
_SENDS_KEPT = 8192

_STEEP, _FLAT = 0.1, 0.025
"""How far below the supposed limit the pace starts, as a share: while the figure is new, and once it is confirmed."""
_SOON, _LATE = 2.0, 16.0
"""Seconds until it reaches the supposed limit, likewise."""
_CONFIRMED = 0.06
"""Two figures so close confirm each other."""
_CHANGED = 0.8
"""If the account accepts less than this share of what it did, its limit has changed."""
_BEYOND_CURVE = 10.0
_LATELY = 1.0
"""Seconds. A first guess that is too high is soon put right, one that is too low costs time."""
_MORE_THAN_A_TURN = 3.0
"""Requests: an account whose room comes back evenly asks for a shorter wait."""
LONGEST_HEEDED = 600.0
"""Seconds. Who asks for a longer wait wants no more calls today: the run ends, and can go on later."""


class Pace:
    """The pace of one account's requests. All times are seconds of one clock."""

    def __init__(self, *, concurrency: int, at_once: bool = False, ceiling: float = inf) -> None:
        """A pace that starts gently.

        Args:
            concurrency: Calls in flight at most; beyond them no pace is needed.
            at_once: Whether the service should bear so many at once.
            ceiling: Requests a second that are allowed at most, if that is known.
        """
        self.ceiling = ceiling
        self.due = -inf
        """When the next request may be sent."""
        self._concurrency = concurrency
        self._at_once = at_once
        self._anew = False
        """Whether that was too many."""
        self._ramp: float | None = _FIRST_RATE
        """Requests a second; None once the account has refused one."""
        self._round_began = -inf
        self._round_trip = inf
        self._sends: list[float] = []
        """When the requests were sent that were not refused."""
        self._held = _FIRST_RATE
        """The supposed limit, in requests a second."""
        self._held_since = 0.0
        self._time, self._depth = _SOON, _STEEP
        self._heeded = -inf
        """When the last refusal was heeded: those sent before it say nothing new."""
        self._probing = False
        """Whether the next request is the first after a pause."""
        self._refusal_takes = 0.0
        """Seconds until a refusal is heard of, and half as long again."""
        self._counted_from = -inf
        self._paused = 0.0
        """Seconds since `_counted_from` in which nothing was sent on purpose."""
        self._resumed = -inf
        self._stock = -inf, 1
        """When the requests before the first refusal began, and how many were accepted."""
        self._in_vain = 0
        """Pauses in a row after which nothing was accepted."""
        self._settled = False
        """Whether the limit was measured between two refusals."""
        self._all_at_once = False
        """Whether the account's room comes back at once, as a window's does, and not evenly."""

    def rate(self, now: float) -> float:
        """Requests a second, at this moment."""
        if self._ramp is not None:
            return min(self._ramp if self.ceiling == inf else inf, self.ceiling)
        along = (now - self._held_since - self._time) / self._time
        return min(self._held * (1 + self._depth * along**3) if along < _BEYOND_CURVE else inf, self.ceiling)

    def sent(self, now: float) -> None:
        """A request goes out."""
        rate = self.rate(now)
        if len(self._sends) >= _SENDS_KEPT:
            del self._sends[: _SENDS_KEPT // 2]
        self._sends.append(now)
        if rate == inf:
            self.due = now
            return
        if now > self.due + max(1 / rate, _SLACK):  # nobody waited: that says nothing of the limit
            self._held_since += now - max(self.due, self._held_since)
        self.due = max(self.due, now - _SLACK) + 1 / rate
        if self._probing:  # the next one waits for what comes of this one
            self._probing = False
            self.due = max(self.due, now + self._refusal_takes)

    def accepted(self, sent: float, now: float) -> None:
        """A reply came to a request that was sent at `sent`."""
        if self._ramp is None or self._ramp == inf:
            return
        self._round_trip = min(self._round_trip, now - sent)
        if sent >= self._round_began:
            self._round_began = now
            self._ramp *= 2
            if self._at_once or self._ramp * self._round_trip > 2 * self._concurrency:
                self._ramp = inf

    def refused(self, sent: float, now: float, retry_after: float | None) -> None:
        """A request that was sent at `sent` was one too many."""
        place = bisect_left(self._sends, sent)
        if place < len(self._sends) and self._sends[place] == sent:
            del self._sends[place]
        if sent < self._heeded:
            return
        self._heeded = now
        self._refusal_takes = 1.5 * (now - sent)
        self._probing = True
        first = self._ramp is not None
        rate = self.rate(sent)
        accepted = self._count(self._resumed, sent)
        wish = _wish(retry_after)
        if first and self.ceiling == inf and (self._at_once or (self._anew and not accepted)):
            self._start_anew(now + self._pause(wish))
            return
        self._in_vain = 0 if first or accepted else self._in_vain + 1
        resume = now + self._pause(wish)
        if first:
            self._guess(accepted, sent, resume, wish)
        elif self._in_vain:
            self._wait_on(sent, now, resume)
        else:
            self._measure(accepted, rate, sent, resume - now)
        self._resumed = self.due = resume
        if not (first or self._in_vain):
            self._held_since = resume

    def _start_anew(self, resume: float) -> None:
        """All at once was too many: as if nothing had been sent yet."""
        self._in_vain = self._in_vain + 1 if self._anew else 0
        self._at_once, self._anew = False, True
        self._ramp = _FIRST_RATE
        self._sends.clear()
        self._resumed = self._round_began = self.due = resume

    def _pause(self, wish: float) -> float:
        own = min(_SHORT_PAUSE / self._held, _LONGEST_SHORT_PAUSE) if self._settled else _FIRST_PAUSE
        return max(min(own * 2.0 ** min(self._in_vain, 20), _LONGEST_PAUSE), wish)

    def _guess(self, accepted: int, sent: float, resume: float, wish: float) -> None:
        """The first refusal: what was accepted so far is what the account accepts, its first stock included."""
        self._ramp = None
        began = self._sends[0] if self._sends else sent
        self._stock = began, max(accepted, 1)
        lately = self._count(sent - _LATELY, sent) / _LATELY
        self._held = max(self._stock[1] / (resume - began), lately)
        self._held_since = resume - self._time  # nothing is known to be below
        if self.ceiling < inf:  # the limit is known: it was the others who use it, or chance
            self._held, self._held_since = self.ceiling, resume
        self._all_at_once = wish * self._held > _MORE_THAN_A_TURN
        self._settled = self._all_at_once
        self._count_from(resume if self._all_at_once else sent)

    def _wait_on(self, sent: float, now: float, resume: float) -> None:
        """Not even the first request after a pause was accepted."""
        self._all_at_once = self._all_at_once or self._in_vain > 1
        self._paused += resume - now
        if self._settled:
            self._held_since = resume
            return
        began, accepted = self._stock
        self._held = accepted / ((sent - began) * (resume - began)) ** 0.5
        self._held_since = resume - self._time
        self._count_from(resume)

    def _measure(self, accepted: int, rate: float, sent: float, pause: float) -> None:
        """What was accepted between two refusals."""
        recent = (accepted + 0.5) / (sent - self._resumed)
        if sent - self._counted_from > _MEMORY or (recent < _CHANGED * self._held and accepted >= 5 and self._settled):
            self._count_from(self._resumed)
        self._settled = True
        seconds = sent - self._counted_from
        if self._all_at_once:
            seconds -= min(self._paused, 0.04 * seconds)
        before = self._held
        self._held = (self._count(self._counted_from, sent) + 0.5) / seconds
        if (
            self._held > (1 + _CONFIRMED) * before and sent - self._resumed > 2 * _SOON
        ):  # climbed from below: much of the time was spent there
            self._held = max(self._held, 0.9 * rate)
        elif rate < 1.2 * self._held:  # the pace itself says as much: a little more than the limit
            self._held = max(self._held, 0.98 * (self._held + rate) / 2)
        self._paused += pause
        if abs(self._held / before - 1) < _CONFIRMED:
            self._time, self._depth = min(2 * self._time, _LATE), max(self._depth / 2, _FLAT)
        else:
            self._time, self._depth = _SOON, _STEEP

    def _count_from(self, moment: float) -> None:
        del self._sends[: bisect_left(self._sends, moment)]
        self._counted_from = moment
        self._paused = 0.0

    def _count(self, begin: float, end: float) -> int:
        return bisect_left(self._sends, end) - bisect_left(self._sends, begin)


def _wish(retry_after: float | None) -> float:
    """Seconds that a service asks to wait, if it says more than we know: 1 is any fraction of a second, rounded up."""
    return 0.0 if retry_after is None or retry_after == 1.0 or retry_after > LONGEST_HEEDED else retry_after
