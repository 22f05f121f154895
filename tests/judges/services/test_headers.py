import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.services.headers import anthropic_limits, openai_limits, retry_after
from judges.usage import Limit, Limits

DATE = {"date": "Mon, 30 Nov 2026 12:00:00 GMT"}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT", **DATE}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:59:00 GMT", **DATE}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_the_time_to_wait_is_seconds_milliseconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1s", 1.0), ("20ms", 0.02), ("1m30s", 90.0), ("6h0m5.2s", 21605.2), ("0s", 0.0), ("2d", 172800.0), ("7", 7.0),
     ("1m30", None), ("soon", None), ("", None)],
)  # fmt: skip
def test_openai_writes_times_in_units(text: str, seconds: float | None) -> None:
    found = openai_limits({"x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": text})
    assert found is not None
    assert found.requests is not None
    assert found.requests.reset_seconds == (None if seconds is None else pytest.approx(seconds))


def test_openais_limits_are_read_and_what_is_not_stated_is_not_invented() -> None:
    headers = {
        "x-ratelimit-limit-requests": "10000",
        "x-ratelimit-remaining-requests": "9999",
        "x-ratelimit-reset-requests": "6ms",
        "x-ratelimit-limit-tokens": "2000000",
    }
    assert openai_limits(headers) == Limits(Limit(10000, 9999, 0.006), Limit(2000000))
    assert openai_limits({"content-type": "application/json"}) is None


def test_a_limit_by_the_day_is_not_taken_for_one_by_the_minute() -> None:
    headers = {
        "x-ratelimit-limit-requests": "200",
        "x-ratelimit-remaining-requests": "199",
        "x-ratelimit-reset-requests": "7m12s",
    }
    assert openai_limits(headers) == Limits(Limit(None, 199, 432.0))


def test_anthropics_limits_are_read_by_the_clock_of_the_service() -> None:
    headers = {
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-requests-reset": "2026-11-30T12:00:01Z",
        "anthropic-ratelimit-input-tokens-limit": "30000",
        "anthropic-ratelimit-output-tokens-remaining": "7000",
        "anthropic-ratelimit-output-tokens-reset": "2026-11-30T11:00:00Z",
        **DATE,
    }
    assert anthropic_limits(headers) == Limits(
        Limit(50, 49, 1.0), input_tokens=Limit(30000), output_tokens=Limit(None, 7000, 0.0)
    )
    assert anthropic_limits(DATE) is None


NAMES = st.sampled_from(
    ["retry-after", "retry-after-ms", "date", "x-ratelimit-limit-requests", "x-ratelimit-remaining-tokens",
     "x-ratelimit-reset-tokens", "anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-requests-limit"]
)  # fmt: skip
TEXTS = st.text(max_size=30) | st.from_regex(r"[0-9.]{1,9}(ms|m|s|h)?", fullmatch=True) | st.datetimes().map(str)


@given(st.dictionaries(NAMES, TEXTS))
def test_whatever_headers_say_times_are_finite_and_not_negative(headers: dict[str, str]) -> None:
    wait = retry_after(headers)
    assert wait is None or (math.isfinite(wait) and wait >= 0)
    for limits in (openai_limits(headers), anthropic_limits(headers)):
        for limit in (limits.requests, limits.tokens) if limits is not None else ():
            assert limit is None or limit.reset_seconds is None or limit.reset_seconds >= 0
