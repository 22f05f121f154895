"""Noise and drift from the command line: `judges run --repeat-share`, `judges calibrate --anchors`."""

import json
from pathlib import Path

import pytest

from support.command import EXAMPLE, judges
from support.model_server import RunningServer

CASES = EXAMPLE / "cases.jsonl"
LABELS = EXAMPLE / "labels.jsonl"
JUDGE = ("-c", "correctness", "-j", "openai:gpt-4.1-mini")


@pytest.fixture
def user(tmp_path: Path, server: RunningServer) -> dict[str, str]:
    """The environment of someone who judged the example then."""
    changes = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.openai, "JUDGES_CACHE": str(tmp_path / "cache")}
    judges("run", CASES, *JUDGE, "--out", "run", folder=tmp_path, changes=changes)
    server.clear_log()
    return changes


def anchors(folder: Path, changes: dict[str, str], *more: str, code: int = 0) -> str:
    return judges("calibrate", "run", "--anchors", LABELS, *more, folder=folder, changes=changes, code=code).stdout


def test_the_same_model_is_asked_again_past_the_cache_and_has_not_changed(
    tmp_path: Path, user: dict[str, str], server: RunningServer
) -> None:
    shown = anchors(tmp_path, user)
    assert server.requests() == 88  # twice, so that the noise of today is known
    assert "correctness by openai:gpt-4.1-mini, then and now: 44 labelled cases" in shown
    assert "no change is shown beyond its noise; these cases leave room for a share of other verdicts of at" in shown


def test_another_model_behind_the_name_is_a_change_and_ends_with_1(
    tmp_path: Path, user: dict[str, str], server: RunningServer
) -> None:
    server.set(brain="support.biased_brains:verbose")
    [found] = json.loads(anchors(tmp_path, user, "--json", code=1))["drift"]
    assert found["found"] == "changed"
    assert found["fingerprint_then"] == found["fingerprint_now"]
    assert found["noise"]["value"] == 0
    assert found["verdicts_turned"]["to_pass"] > 10
    assert len(found["changed"]) == found["verdicts_turned"]["to_pass"] + found["verdicts_turned"]["to_fail"]
    assert "so the model behind the name has changed" in anchors(tmp_path, user, code=1)


def test_a_judge_that_is_asked_in_another_way_is_named_as_such(
    tmp_path: Path, user: dict[str, str], server: RunningServer
) -> None:
    (tmp_path / "judges.toml").write_text('[judges.mine]\nmodel = "openai:gpt-4.1-mini"\n', "utf-8")
    named = ("run", CASES, "-c", "correctness", "-j", "mine", "--out", "mine")
    judges(*named, folder=tmp_path, changes=user)
    (tmp_path / "judges.toml").write_text('[judges.mine]\nmodel = "openai:gpt-4.1-mini"\nrationale = false\n', "utf-8")
    done = judges("calibrate", "mine", "--anchors", LABELS, folder=tmp_path, changes=user)
    assert "it is asked in another way than then" in done.stdout


def test_nothing_is_paid_that_was_not_agreed_to(tmp_path: Path, user: dict[str, str], server: RunningServer) -> None:
    refused = judges(
        "calibrate", "run", "--anchors", LABELS, "--max-cost", "0.001", folder=tmp_path, changes=user, code=2
    )
    assert "88 new judgements: 88 calls to pay, about $" in refused.stderr
    assert "say with --yes" in refused.stderr
    assert server.requests() == 0


def test_an_offline_judge_never_changes(tmp_path: Path) -> None:
    judges("run", CASES, "-c", "correctness", "-j", "overlap", "--out", "run", folder=tmp_path)
    shown = anchors(tmp_path, {}, "--cluster", "meta.topic")
    assert "no change is shown beyond its noise" in shown


def test_a_share_is_asked_again_within_the_run_and_the_summary_says_how_often_it_flips(
    tmp_path: Path, user: dict[str, str], server: RunningServer
) -> None:
    common = (CASES, *JUDGE, "--repeat-share", "0.2", "--no-cache")
    planned = json.loads(judges("plan", *common, "--json", folder=tmp_path, changes=user).stdout)
    server.set(brain="support.biased_brains:fickle")
    done = judges("run", *common, "--out", "other", folder=tmp_path, changes=user)
    again = planned["calls"] - 44
    assert 3 <= again <= 16
    assert server.requests() == planned["calls"]
    assert f"asked once more, the verdict changed on {again} of {again}: 1.00 [" in done.stdout
    shown = json.loads(judges("show", "other", "--json", folder=tmp_path, changes=user).stdout)
    assert [each["flipped"] for each in shown["repeats"]] == [again]
    assert shown["rows"][0]["asked"] == 44
    assert len(judges("export", "other", folder=tmp_path, changes=user).stdout.splitlines()) == 44
    resumed = judges("run", *common, "--out", "other", folder=tmp_path, changes=user)
    assert f"resumed: {44 + again} of {44 + again} judgements were there already" in resumed.stderr
