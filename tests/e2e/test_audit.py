"""`judges audit` from the command line: judges that are biased on purpose are found out, others get a bound."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.command import EXAMPLE, judges
from support.model_server import RunningServer

CASES = EXAMPLE / "cases.jsonl"
LABELS = EXAMPLE / "labels.jsonl"
MODEL = "openai:gpt-4.1-mini"


class User:
    """Someone with a hosted judge of a certain bias."""

    def __init__(self, folder: Path, server: RunningServer) -> None:
        self.folder = folder
        self.server = server
        self.changes = {
            "OPENAI_API_KEY": "sk-none",
            "OPENAI_BASE_URL": server.openai,
            "JUDGES_CACHE": str(folder / "cache"),
        }

    def audit(self, brain: str, *arguments: str | Path, source: str | Path = CASES) -> dict[str, dict[str, Any]]:
        """The findings by name of probe and variant."""
        self.server.set(brain=f"support.{brain}")
        done = judges(
            "audit", source, "-j", MODEL, *arguments, "--yes", "--json", folder=self.folder, changes=self.changes
        )
        [one] = json.loads(done.stdout)["audits"]
        return {" ".join(filter(None, (each["probe"], each["variant"]))): each for each in one["findings"]}


@pytest.fixture
def user(tmp_path: Path, server: RunningServer) -> User:
    return User(tmp_path, server)


def found(findings: dict[str, dict[str, Any]]) -> set[str]:
    return {name for name, each in findings.items() if each["found"] == "shown"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example judged by the overlap judge, three times over."""
    folder = tmp_path_factory.mktemp("run")
    judges("run", CASES, "-c", "correctness", "-j", "overlap", "--replicates", "3", "--out", "run", folder=folder)
    return folder / "run"


# --- Biases that were planted ---------------------------------------------------------------------------------------


def test_a_judge_that_obeys_the_answer_in_english_is_found_and_the_rest_gets_a_bound(user: User) -> None:
    findings = user.audit("biased_brains:obedient", "-c", "faithfulness")
    assert found(findings) == {"injection en"}
    injected = findings["injection en"]
    assert injected["effect"]["figure"]["ci_low"] > 0.2
    assert injected["verdicts_turned"]["to_pass"] > 10
    assert injected["verdicts_turned"]["to_fail"] == 0
    assert injected["others"]["fails that become passes"]["value"] == 1
    for name in ("injection ca", "authority", "padding", "politeness", "format heading", "repeat", "unsupported"):
        assert findings[name]["effect"]["bound"] < 0.15, name


def test_a_judge_that_prefers_what_it_is_shown_first_is_found(user: User) -> None:
    cases = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    records = [
        {"id": one["id"], "question": one["question"], "answers": {"a": one["answer"], "b": other["answer"]}}
        for one, other in pairwise(cases)
    ]
    (user.folder / "pairs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records), "utf-8")
    arguments = ("-c", "preference", "--probe", "position")
    biased = user.audit("biased_brains:first", *arguments, source="pairs.jsonl")["position"]
    assert biased["found"] == "shown"
    assert biased["effect"]["figure"]["value"] == 1
    assert biased["verdicts_turned"]["rate"]["value"] == 1
    asked = user.server.requests()
    again = user.audit("biased_brains:first", *arguments, source="pairs.jsonl")["position"]
    assert (again, user.server.requests()) == (biased, asked)  # from the cache


def test_a_judge_that_likes_long_answers_is_found(user: User) -> None:
    findings = user.audit("biased_brains:verbose", "-c", "answer_relevance", "--probe", "padding", "--probe", "format")
    assert found(findings) == {"padding"}
    assert findings["padding"]["verdicts_turned"]["to_pass"] > 10


def test_a_judge_that_goes_by_what_it_knows_is_found(user: User) -> None:
    findings = user.audit("biased_brains:knowing", "-c", "faithfulness", "--probe", "unsupported")
    assert found(findings) == {"unsupported"}
    assert findings["unsupported"]["effect"]["figure"]["ci_low"] > 0.1
    honest = user.audit("judging_brain:judge", "-c", "faithfulness", "--probe", "unsupported", "--no-cache")
    assert honest["unsupported"]["found"] == "not_shown"
    assert honest["unsupported"]["effect"]["bound"] < 0.15


def test_a_judge_that_changes_its_mind_is_found(user: User) -> None:
    findings = user.audit("biased_brains:fickle", "-c", "answer_relevance", "--probe", "repeat")
    assert findings["repeat"]["effect"]["figure"]["value"] == 1
    assert found(user.audit("judging_brain:judge", "-c", "correctness", "--probe", "repeat")) == set()


@pytest.mark.parametrize(
    ("brain", "criterion", "probe"),
    [
        ("last_listed", "answer_relevance", "level-order"),
        ("swayed_by_names", "answer_relevance", "level-names"),
        ("crowded", "faithfulness", "batch"),
    ],
)
def test_a_judge_swayed_by_how_it_is_asked_is_found_and_one_that_reads_what_levels_mean_gets_a_bound(
    user: User, brain: str, criterion: str, probe: str
) -> None:
    asked = ("-c", criterion, "--probe", "level-order", "--probe", "level-names", "--probe", "batch")
    findings = user.audit(f"biased_brains:{brain}", *asked)
    assert found(findings) == {probe}
    shown = findings[probe]
    assert abs(shown["effect"]["figure"]["value"]) > 0.1
    assert shown["verdicts_turned"]["to_fail" if probe != "level-names" else "to_pass"] > 5
    assert shown["p_holm"] < 0.05
    others = set(findings) - {probe}
    assert all(findings[each]["effect"]["bound"] < 0.15 for each in others if findings[each]["effect"]["bound"])
    honest = user.audit("judging_brain:judge", *asked, "--no-cache")
    assert found(honest) == set()
    assert honest[probe]["effect"]["bound"] < 0.15


def test_a_judge_swayed_by_the_wording_is_found(user: User) -> None:
    levels = (
        '[[levels]]\nlabel = "off"\nscore = 0.0\ndescription = "It doesn\'t address the question."\n'
        '[[levels]]\nlabel = "on"\nscore = 1.0\ndescription = "It addresses what was asked, and little else."\n'
    )
    for name, text in (("plain", "Does the answer address the question?"), ("polite", "Please say: is it on point?")):
        head = f'name = "on_point"\ndescription = "{text}"\njudged = "answer"\nagainst = "question"\n'
        (user.folder / f"{name}.toml").write_text(head + levels, encoding="utf-8")
    asked = ("-c", "plain.toml", "--probe", "wording", "--rephrased", "polite.toml")
    [swayed] = user.audit("biased_brains:flattered", *asked).values()
    assert (swayed["probe"], swayed["found"]) == ("wording", "shown")
    assert swayed["effect"]["figure"]["ci_low"] > 0.1
    [steady] = user.audit("judging_brain:judge", *asked, "--no-cache").values()
    assert steady["found"] == "not_shown"
    assert steady["effect"]["bound"] < 0.15
    (user.folder / "other.toml").write_text('name = "on_point"\njudged = "answer"\n', encoding="utf-8")
    common = ("audit", CASES, "-j", MODEL, "-c", "plain.toml", "--probe", "wording", "--rephrased")
    refused = judges(*common, "other.toml", folder=user.folder, changes=user.changes, code=2)
    assert "must ask the same; what it is judged against differs" in refused.stderr


# --- What it costs --------------------------------------------------------------------------------------------------


def test_nothing_is_paid_before_the_price_was_said_and_agreed_to(user: User) -> None:
    user.server.set(brain="support.judging_brain:judge")
    common = ("audit", CASES, "-c", "correctness", "-j", MODEL, "--probe", "padding", "--max-cost", "0.0001")
    refused = judges(*common, folder=user.folder, changes=user.changes, code=2)
    assert "88 new judgements: 88 calls to pay, about $" in refused.stderr
    assert "say with --yes that these calls may be paid" in refused.stderr
    assert user.server.requests() == 0
    stopped = judges(*common, "--yes", folder=user.folder, changes=user.changes, code=4)
    assert "the budget of $0.0001" in stopped.stderr
    cheap = ("--max-cost", "1", "--n", "5")
    judges(*common[:-2], *cheap, folder=user.folder, changes=user.changes)
    assert user.server.requests() == 10


def test_judgements_that_the_run_has_are_not_made_again(user: User) -> None:
    user.server.set(brain="support.judging_brain:judge")
    judges(
        "run", CASES, "-c", "correctness", "-j", MODEL, "--out", "run", "--no-cache",
        folder=user.folder, changes=user.changes,
    )  # fmt: skip
    user.server.clear_log()
    done = judges(
        "audit", "run", "--probe", "politeness", "--no-cache", "--yes", folder=user.folder, changes=user.changes
    )
    assert user.server.requests() == 44
    assert "44 new judgements" in done.stderr
    other = ("audit", "run", "--probe", "politeness", "--no-rationale", "--yes")
    assert "isn't the one of the run" in judges(*other, folder=user.folder, changes=user.changes, code=2).stderr


# --- What a run shows for free --------------------------------------------------------------------------------------


def test_a_run_alone_shows_noise_and_use_of_the_scale_without_a_call(run: Path) -> None:
    done = judges("audit", run, folder=run.parent)
    assert "audit of overlap on correctness" in done.stdout
    assert "the 3 replicates of the run: chance that two verdicts differ" in done.stdout
    assert "severity: needs people's labels: --gold" in done.stdout
    assert "length: no labels of people: they may well be better or worse; --gold tells" in done.stdout
    assert done.stderr == ""


def test_where_verdicts_are_stored_nobody_is_told_to_ask_again(tmp_path: Path) -> None:
    records = [
        {
            "id": str(place),
            "question": f"{place}?",
            "answers": {"a": "yes", "b": "no"},
            "m": {"preference": "ab"[place % 2]},
        }
        for place in range(10)
    ]
    source = tmp_path / "pairs.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    asked = (source, "-c", "preference", "-j", "stored:m")
    judges("run", *asked, "--out", "run", folder=tmp_path)
    done = judges("audit", "run", folder=tmp_path)
    assert "none of this tests for a bias: people's labels (--gold) do\n" in done.stdout
    assert "if the other is too: judges compare FILE FILE" in done.stdout
    assert "--probe" not in done.stdout
    assert (
        "make a run of it (judges run), and audit its folder" in judges("audit", *asked, folder=tmp_path, code=2).stderr
    )


def test_people_s_labels_are_the_reference_for_severity_length_and_own_family(run: Path) -> None:
    arguments = ("--gold", LABELS, "--label", "gold.correctness", "--system", "meta.system", "--own", "a", "--json")
    [one] = json.loads(judges("audit", run, *arguments, folder=run.parent).stdout)["audits"]
    by_name = {each["probe"]: each for each in one["findings"]}
    assert set(by_name) == {"repeat", "severity", "length", "self-preference", "scale"}
    turned = by_name["severity"]["verdicts_turned"]
    assert turned["of"] == 44
    assert turned["to_pass"] + turned["to_fail"] > 5
    shift = (turned["to_pass"] - turned["to_fail"]) / 44
    assert by_name["severity"]["effect"]["figure"]["value"] == pytest.approx(shift)
    assert by_name["self-preference"]["effect"]["figure"]["n"] == 44
    assert one["judge_fingerprint"].startswith("overlap@")


def test_an_option_that_does_not_reach_the_judge_of_the_run_is_refused(run: Path) -> None:
    done = judges("audit", run, "--probe", "padding", "--samples", "3", folder=run.parent, code=2)
    assert "--samples has no effect on `overlap`" in done.stderr


def test_new_probes_of_an_offline_judge_cost_nothing(run: Path) -> None:
    done = judges("audit", run, "--probe", "padding", "--probe", "injection", "--n", "20", "--json", folder=run.parent)
    document = json.loads(done.stdout)
    assert document["asked"] == {"judgements": 100, "calls": 0, "cost": 0.0, "most_cost": 0.0}
    assert {each["effect"]["figure"]["n"] for each in document["audits"][0]["findings"]} == {20}


def test_intervals_allow_for_groups(run: Path) -> None:
    arguments = ("--probe", "padding", "--cluster", "meta.topic", "--json")
    [one] = json.loads(judges("audit", run, *arguments, folder=run.parent).stdout)["audits"]
    figure = one["findings"][0]["effect"]["figure"]
    assert 2 < figure["n_clusters"] < figure["n"] == 44


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((CASES,), "say who is asked what, with --judge and --criterion"),
        (("run", "--probe", "charm"), "--probe charm: choose among repeat, position, severity"),
        ((CASES, "-j", "overlap", "-c", "correctness", "--probe", "severity"), "--probe severity is for a run"),
        ((CASES, "-j", "overlap", "-c", "correctness", "--gold", LABELS), "--gold is for a run"),
        (("run", "--label", "gold.correctness"), "give their file with --gold"),
        (("run", "--gold", CASES), "has no labels of correctness"),
        (("run", "--lang", "ca"), "--lang is for a file of cases; the run has its cases already"),
        (("run", "-c", "tone"), "the run has nothing of that; it has: correctness by overlap"),
    ],
    ids=str,
)
def test_wrong_usage_gets_one_clear_line_and_exit_code_2(
    run: Path, arguments: tuple[str | Path, ...], message: str
) -> None:
    done = judges("audit", *arguments, folder=run.parent, code=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
