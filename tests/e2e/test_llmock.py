"""All that surrounds a call, against a server that isn't ours and that grades how its clients retry."""

import asyncio
from collections.abc import Generator
from pathlib import Path
from urllib.error import HTTPError

import pytest
from pydantic import SecretStr

from judges import ANSWER_RELEVANCE, Case, Judge, Outcome, Verdict, evaluate
from judges.config import Connections
from judges.errors import Rejected, Unauthorised
from judges.settings import JudgeSettings, ServiceSettings, Settings
from support.llmock import Llmock, is_installed

pytestmark = pytest.mark.skipif(not is_installed(), reason="llmock is not installed")

PER_MINUTE = 60
MODELS = pytest.mark.parametrize("model", ["openai:gpt-4o", "anthropic:claude-sonnet-4-5"])


@pytest.fixture(scope="module")
def llmock() -> Generator[Llmock]:
    with Llmock.start(requests_per_minute=PER_MINUTE) as server:
        yield server


class User:
    """Someone with a model, an account of their own (llmock tells them by their keys), and a folder."""

    def __init__(self, llmock: Llmock, model: str, folder: Path) -> None:
        self.folder = folder
        self.key = f"{folder.name} {model}"
        self.is_openai = model.startswith("openai")
        base_url = llmock.openai if self.is_openai else llmock.anthropic
        settings = Settings(services={base_url: ServiceSettings(api_key=SecretStr(self.key))})
        connections = Connections(settings, asked=JudgeSettings(base_url=base_url), cache=folder / "cache")
        self.judge: Judge = connections.judge(model)
        self.close = connections.close

    def run(self, out: str, count: int) -> list[Outcome]:
        """The outcomes of so many cases; what is asked has this user's key in it, for llmock groups by it."""
        cases = [Case(str(number), f"What is {number}?", f"A number, by {self.key}.") for number in range(count)]
        results = asyncio.run(evaluate(cases, ANSWER_RELEVANCE, self.judge, out=self.folder / out))
        return [judgement.outcome for judgement in results]


@pytest.fixture
def user(llmock: Llmock, model: str, tmp_path: Path) -> Generator[User]:
    """It has been found out how this model is asked for JSON; llmock has forgotten that it was asked."""
    user = User(llmock, model, tmp_path)
    user.run("acquaint", 1)
    llmock.reset()
    yield user
    user.close()


@MODELS
@pytest.mark.parametrize(
    ("status", "how"),
    [(429, {"retry_after": 0.4}), (429, {}), (500, {}), (503, {"retry_after": 0.3}), (529, {})],
    ids=["429-retry-after", "429", "500", "503-retry-after", "529"],
)
def test_what_may_succeed_later_is_repeated_as_the_server_would_have_it(
    llmock: Llmock, user: User, status: int, how: dict[str, float]
) -> None:
    llmock.fail(status, times=3, **how)
    outcomes = user.run("one", 4)
    assert [type(outcome) for outcome in outcomes] == [Verdict] * 4
    found = llmock.verdict()
    assert (found["faults_injected"], found["calls"], found["attempts"]) == (3, 3, 6)  # one of the cases was cached
    assert found["findings"] == []


@pytest.mark.parametrize("model", ["openai:gpt-4o"])
def test_a_service_that_fails_for_long_is_given_up_in_the_end_and_the_failure_has_a_name(
    llmock: Llmock, user: User
) -> None:
    llmock.fail(500, times=6)
    [_, outcome] = user.run("one", 2)
    assert "(6 attempts)" in str(outcome)
    found = llmock.verdict()
    assert (found["calls"], found["attempts"], found["findings"]) == (1, 6, [])


@MODELS
def test_an_account_that_is_used_up_is_waited_for_and_nothing_is_lost(llmock: Llmock, user: User) -> None:
    path = "/v1/chat/completions" if user.is_openai else "/anthropic/v1/messages"
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": user.key}]}
    headers = {"authorization": f"Bearer {user.key}", "anthropic-version": "2023-06-01"}

    def use_up() -> None:
        for _ in range(3 * PER_MINUTE):
            llmock.ask("POST", path, body, headers)

    with pytest.raises(HTTPError, match="429"):
        use_up()
    llmock.reset()
    outcomes = user.run("one", 4)
    assert [type(outcome) for outcome in outcomes] == [Verdict] * 4
    found = llmock.verdict()
    assert (found["calls"], found["findings"]) == (3, [])


@MODELS
@pytest.mark.parametrize(("status", "kind"), [(401, Unauthorised), (403, Unauthorised)])
def test_what_can_never_succeed_stops_the_run_and_is_not_repeated(
    llmock: Llmock, user: User, status: int, kind: type[Exception]
) -> None:
    llmock.fail(status, times=10)
    with pytest.raises(kind):
        user.run("one", 4)
    found = llmock.verdict()
    assert (found["passed"], found["errors"], found["warnings"]) == (True, 0, 0)
    assert 1 <= found["attempts"] == found["calls"] <= 3
    llmock.reset()


@MODELS
def test_a_first_request_that_is_refused_stops_the_run(llmock: Llmock, model: str, tmp_path: Path) -> None:
    user = User(llmock, model, tmp_path)
    llmock.reset()
    llmock.fail(400, times=10)
    with pytest.raises(Rejected, match="first request was refused"):
        user.run("one", 3)
    assert llmock.verdict()["findings"] == []
    llmock.reset()
    user.close()


@MODELS
def test_a_second_run_asks_nothing(llmock: Llmock, user: User) -> None:
    first = user.run("one", 3)
    asked = llmock.verdict()["attempts"]
    second = user.run("two", 3)
    assert (asked, llmock.verdict()["attempts"]) == (2, 2)
    assert first == second
