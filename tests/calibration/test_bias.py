"""Biases that the judgements of a run show."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from calibration.answers import Subject, answers_in_run
from calibration.bias import READING, Groups, family_of, findings_of, observe
from calibration.findings import Finding, Skipped, adjusted
from calibration.labels import read_labels
from calibration.meaning import meaning_of
from calibration.pairs import Pairs, Question, join
from judges import Abstained, Case, Criterion, Run, Verdict, evaluate_sync
from judges.criteria import PREFERENCE
from support.builders import ANSWERED, FunctionJudge, make_case
from support.stored import write_records


class Pairwise(FunctionJudge):
    def supports(self, criterion: Criterion) -> bool:
        return True


def audited(
    folder: Path,
    cases: list[Case],
    says: Callable[[Case], object],
    gold: list[str] | None = None,
    groups: Groups | None = None,
    *,
    criterion: Criterion = ANSWERED,
    name: str = "function",
    replicates: int = 1,
) -> tuple[dict[str, Finding], dict[str, Skipped]]:
    """Findings and skipped probes of a run of these cases, by name."""
    evaluate_sync(cases, criterion, Pairwise(says, name=name), out=folder / "run", replicates=replicates)
    home = Run(folder / "run")
    manifest = home.manifest()
    [observed] = observe(home, manifest, manifest.assignments, groups or Groups())
    pairs: Pairs | None = None
    if gold is not None:
        records = [{"id": case.id, "gold": label} for case, label in zip(cases, gold, strict=True)]
        labels = read_labels(write_records(folder, records, "labels.jsonl"), "gold")
        question = Question(Subject.of(manifest.assignments[0]), labels, meaning_of(labels, positive=None, scale=None))
        [pairs] = join(answers_in_run(home, manifest, manifest.assignments), [question], source="run")
    found, skipped = findings_of(observed, pairs)
    return {each.name: each for each in adjusted(found)}, {each.probe: each for each in skipped}


def labelled(n: int, seed: int) -> tuple[list[Case], list[str]]:
    """Answers of two systems, of any length, that people pass or fail whatever these are."""
    rng = np.random.default_rng(seed)
    gold = ["pass" if each else "fail" for each in rng.random(n) < 0.6]
    lengths, own = rng.integers(10, 400, n), rng.random(n) < 0.5
    cases = [
        make_case(
            number,
            answer=f"{number:04}" + "x" * int(lengths[number]),
            extra={"system": "gpt-5" if own[number] else "claude-4", "people": gold[number]},
        )
        for number in range(n)
    ]
    return cases, gold


def agreeing(case: Case) -> Verdict:
    return Verdict(float(case.extra["people"] == "pass"))


SYSTEMS = Groups(system="system")


def test_a_judge_that_says_what_people_say_has_no_bias_and_each_has_a_bound(tmp_path: Path) -> None:
    cases, gold = labelled(120, seed=1)
    found, skipped = audited(tmp_path, cases, agreeing, gold, SYSTEMS, name="openai:gpt-5-mini")
    assert {each.found for each in found.values()} <= {"not_shown", "undefined", "description"}
    bound = found["severity"].effect.bound
    assert bound is not None
    assert bound < 0.05
    assert set(skipped) == {"repeat", "position", "language"}


def test_a_judge_that_lifts_its_own_family_is_found_with_people_as_the_reference(tmp_path: Path) -> None:
    cases, gold = labelled(200, seed=2)

    def says(case: Case) -> Verdict:
        return Verdict(1.0 if case.extra["system"] == "gpt-5" else agreeing(case).score)

    found, _ = audited(tmp_path, cases, says, gold, SYSTEMS, name="openai:gpt-5-mini")
    own = found["self-preference"]
    assert own.found == "shown"
    assert own.effect.figure.value == pytest.approx(0.4, abs=0.1)
    assert own.turned is not None
    assert own.turned.to_pass == sum(
        case.extra["system"] == "gpt-5" and label == "fail" for case, label in zip(cases, gold, strict=True)
    )
    assert "its own family (gpt-5)" in own.what
    assert found["length"].found == "not_shown"
    assert found["severity"].found == "shown"


def test_a_judge_that_likes_length_is_found_where_people_do_not(tmp_path: Path) -> None:
    cases, gold = labelled(200, seed=3)
    found, _ = audited(tmp_path, cases, lambda case: Verdict(float(len(case.answer or "") > 200)), gold, SYSTEMS)
    assert found["length"].found == "shown"
    assert (found["length"].effect.figure.ci_low or 0) > 0.5
    assert found["length"].explains is not None
    systems, figure = found["length"].explains
    assert set(systems.split(" less ")) == {"gpt-5", "claude-4"}
    assert 0 <= (figure.value or 0) < 0.2  # both write answers of any length


def test_without_people_a_difference_is_only_described(tmp_path: Path) -> None:
    cases, _ = labelled(100, seed=4)
    found, skipped = audited(
        tmp_path, cases, lambda case: Verdict(float(len(case.answer or "") > 200)), None, SYSTEMS, name="claude-x"
    )
    assert {name: each.found for name, each in found.items()} == {
        "length": "description",
        "self-preference": "description",
        "scale": "description",
    }
    assert "--gold tells" in found["length"].caution
    assert "--gold" in skipped["severity"].why


@pytest.mark.parametrize(
    ("groups", "name", "why"),
    [
        (Groups(), "gpt-5", "name the field with --system"),
        (Groups(system="system"), "overlap", "name its own systems with --own"),
        (Groups(system="author"), "gpt-5", "no case has the field `author`"),
        (Groups(system="system"), "qwen3", "of the systems .* none is of its own family"),
        (Groups(system="system", own=("claude-4", "gpt-5")), "x", "every one is of its own family"),
    ],
)
def test_an_own_family_that_is_not_known_is_said(tmp_path: Path, groups: Groups, name: str, why: str) -> None:
    cases, _ = labelled(20, seed=5)
    _, skipped = audited(tmp_path, cases, agreeing, None, groups, name=name)
    assert re.search(why, skipped["self-preference"].why)


def test_the_same_answer_in_two_languages_is_compared(tmp_path: Path) -> None:
    cases = [
        make_case(number, lang=("en", "fr")[number % 2], answer=f"answer {number}", extra={"item": number // 2})
        for number in range(40)
    ]
    found, _ = audited(
        tmp_path, cases, lambda case: Verdict(0.7 if case.lang == "en" else 0.2), None, Groups(pair="item")
    )
    one = found["language (en to fr)"]
    assert one.found == "shown"
    assert one.effect.figure.value == pytest.approx(-0.5)
    assert one.turned is not None
    assert (one.turned.of, one.turned.to_fail) == (20, 20)


def test_pairs_whose_winner_depends_on_the_order_are_counted_from_the_run(tmp_path: Path) -> None:
    cases = [make_case(number, rival=f"rival {number}") for number in range(10)]

    def says(case: Case) -> object:
        return Verdict(1.0) if int(case.id[1:]) < 7 else Abstained("order_dependent", "first; second")

    found, _ = audited(tmp_path, cases, says, criterion=PREFERENCE)
    assert found["position"].effect.figure.value == pytest.approx(0.3)
    assert found["position"].found == "shown"


def test_pairs_show_whether_the_judge_prefers_the_longer_more_than_people_do(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    cases = [
        make_case(number, answer="a" * int(rng.integers(5, 90)), rival="b" * int(rng.integers(5, 90)))
        for number in range(100)
    ]
    gold = ["a" if each else "b" for each in rng.random(100) < 0.5]
    found, _ = audited(
        tmp_path,
        cases,
        lambda case: Verdict(float(len(case.answer or "") > len(case.rival or ""))),
        gold,
        criterion=PREFERENCE,
    )
    assert found["length"].found == "shown"
    assert (found["length"].effect.figure.value or 0) > 0.3


def test_replicates_show_the_noise(tmp_path: Path) -> None:
    class Wavering(FunctionJudge):
        async def judge(self, case: Case, criterion: object, *, replicate: int = 0) -> Verdict:
            return Verdict(float(replicate % 2 and int(case.id[1:]) % 2))

    cases = [make_case(number) for number in range(10)]
    evaluate_sync(cases, ANSWERED, Wavering(agreeing), out=tmp_path / "run", replicates=2)
    home = Run(tmp_path / "run")
    manifest = home.manifest()
    [observed] = observe(home, manifest, manifest.assignments, Groups())
    [found], _ = findings_of(observed, None, ["repeat"])
    assert found.effect.figure.value == 0.5
    assert set(READING) >= {"repeat"}


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("openai:gpt-4.1-mini", "GPT"),
        ("openai:o4-mini", "GPT"),
        ("anthropic:claude-sonnet-4-5", "Claude"),
        ("meta-llama/Llama-3.3-70B-Instruct", "Llama"),
        ("Qwen/Qwen3-8B", "Qwen"),
        ("mixtral-8x7b", "Mistral"),
        ("overlap", None),
        ("openai:my-own", None),
    ],
)
def test_a_name_tells_the_family(name: str, family: str | None) -> None:
    assert family_of(name) == family
