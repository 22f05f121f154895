import json
from pathlib import Path

import pytest

from support.command import EXAMPLE, SHARED, judges

MINE = """
from judges import Abstained, Verdict

class Short:
    name = "short"
    fingerprint = "short@1"

    def supports(self, criterion):
        return True

    async def judge(self, case, criterion, *, replicate=0):
        return Verdict(min(1.0, 60 / len(case.answer))) if case.answer else Abstained("no_answer")
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example by two judges, and with other answers: half of them the references."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    cases = [json.loads(line) for line in (EXAMPLE / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    labels = [json.loads(line) for line in (EXAMPLE / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
    for place, (case, label) in enumerate(zip(cases, labels, strict=True)):
        if place % 2:
            case["answer"] = case["references"][0]
            label["gold"]["correctness"] = "correct"
    for name, records in (("better", cases), ("better_labels", labels)):
        text = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    for source, judge, out in (
        (EXAMPLE / "cases.jsonl", "overlap", "a"),
        (folder / "better.jsonl", "overlap", "b"),
        (EXAMPLE / "cases.jsonl", "mine:Short", "short"),
    ):
        judges("run", source, "-c", "correctness", "-c", "faithfulness", "-j", judge, "--out", out, folder=folder)
    return folder


def test_two_systems_are_told_apart_where_the_difference_is_real(home: Path) -> None:
    done = judges("compare", "b", "a", folder=home)
    assert done.stdout.splitlines()[:3] == [
        "two systems, one judge (overlap): other answers to the same 44 cases",
        "A: b",
        "B: a",
    ]
    assert "correctness: A is better, by 0." in done.stdout
    assert "p (Holm)" in done.stdout
    assert "left out, faithfulness: " in done.stdout
    assert done.stderr == ""


def test_labels_of_both_systems_tell_what_people_would_find(home: Path) -> None:
    done = judges(
        "compare", "b", "a", "--gold", "better_labels.jsonl", "--gold", EXAMPLE / "labels.jsonl",
        "--label", "gold.correctness", folder=home,
    )  # fmt: skip
    assert "correctness: pass rate of A less that of B, with people's labels on 44 cases" in done.stdout
    assert "as people would find it" in done.stdout
    assert "of what people fail, the judge passes" in done.stdout


def test_two_judges_are_compared_by_people_s_labels(home: Path) -> None:
    done = judges("compare", "a", "short", "--gold", EXAMPLE / "labels.jsonl", folder=home)
    assert done.stdout.startswith("two judges on the same answers, by people's labels: 44 cases\n")
    for words in ("agreement with people", "Cohen's kappa", "fails found", "right where the other is wrong"):
        assert words in done.stdout


def test_without_labels_their_agreement_and_the_cases_they_differ_on_are_shown(home: Path) -> None:
    done = judges("compare", "a", "short", "-c", "correctness", "--cases", "2", folder=home)
    assert done.stdout.startswith("two judges on the same answers, with each other: 44 cases\n")
    assert "they differ on" in done.stdout
    assert "more; see a case with: judges show RUN --case ID" in done.stdout
    assert "only people's labels can tell" in done.stdout


def test_json_has_every_comparison_and_its_slices(home: Path) -> None:
    document = json.loads(judges("compare", "b", "a", "--by", "lang", "--json", folder=home).stdout)
    assert (document["compared"], document["cases_in_both"]) == ("systems", 44)
    assert [(each["criterion"], each["slice"]) for each in document["comparisons"]] == [
        (criterion, lang) for criterion in ("correctness", "faithfulness") for lang in ("ca", "en", "fr", "ro")
    ]
    document = json.loads(
        judges("compare", "a", "short", "--gold", EXAMPLE / "labels.jsonl", "--json", folder=home).stdout
    )
    assert (document["compared"], document["by_people"]) == ("judges", True)


def test_labels_that_were_not_drawn_at_random_can_not_correct_a_difference(home: Path) -> None:
    judges("plan-labels", "a", "-c", "correctness", "--how", "by-verdict", "--n", "44", "--out", "v.jsonl", folder=home)
    (home / "v.jsonl").write_bytes((EXAMPLE / "labels.jsonl").read_bytes())
    done = judges("compare", "b", "a", "--gold", "better_labels.jsonl", "--gold", "v.jsonl", folder=home, code=2)
    assert "ppi_plus_plus is not valid for items chosen 'by_verdict'" in done.stderr
    done = judges("compare", "a", "short", "--gold", "v.jsonl", "-c", "correctness", folder=home)
    assert "the figures are of these cases, not of the run" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a", "nothing"), "not a run"),
        (("a", "a"), "is one run with one judge"),
        (("b", "short"), "both the answers and the judge differ"),
        (("a", "b", "--gold", EXAMPLE / "labels.jsonl"), "give --gold twice"),
        (("a", "b", "--label", "gold.correctness"), "give the file with --gold"),
        (("a", "short", "--gold", EXAMPLE / "labels.jsonl", "--gold", EXAMPLE / "labels.jsonl"), "one set of labels"),
        (("a", "short", "--gold", EXAMPLE / "labels.jsonl", "--label", "gold.tone"), "say which with --criterion"),
        (("a", "short", "-c", "tone"), "has no `tone`"),
        (("a", "short", "--gold", EXAMPLE / "cases.jsonl"), "has no labels of correctness, faithfulness"),
    ],
    ids=str,
)
def test_wrong_usage_gets_one_clear_line_and_exit_code_2(
    home: Path, arguments: tuple[str | Path, ...], message: str
) -> None:
    done = judges("compare", *arguments, folder=home, code=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_systems_of_people_s_data_are_compared_question_by_question(tmp_path: Path) -> None:
    source = SHARED / "data" / "openqa_nq301" / "items.jsonl"
    if not source.exists():
        pytest.skip(f"{source} is not here")
    by_item: dict[str, list[dict[str, object]]] = {}
    for record in map(json.loads, source.read_text(encoding="utf-8").splitlines()):
        by_item.setdefault(record["meta"]["item"], []).append(record)
    for place in (0, 1):
        records = [records[place] | {"id": item} for item, records in by_item.items() if len(records) > place]
        text = "".join(json.dumps(record) + "\n" for record in records)
        (tmp_path / f"{place}.jsonl").write_text(text, encoding="utf-8")
        judges("run", f"{place}.jsonl", "-c", "correctness", "-j", "overlap", "--out", f"run{place}", folder=tmp_path)
    done = judges("compare", "run0", "run1", "--gold", "0.jsonl", "--gold", "1.jsonl", "--json", folder=tmp_path)
    [found] = json.loads(done.stdout)["comparisons"]
    people = found["people"]["estimate"]["normal"]
    assert people["ci_low"] < people["value"] < people["ci_high"]
    assert found["labelled"] > 290
