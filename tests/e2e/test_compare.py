import json
from pathlib import Path

import pytest
from sklearn.metrics import cohen_kappa_score  # pyright: ignore[reportUnknownVariableType]

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
    assert done.stdout.splitlines()[:2] == [
        "two systems, one judge (overlap): other answers to the same 44 cases",
        "A: b; B: a",
    ]
    assert "correctness, by the mean score: A is better, by 0." in done.stdout
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
    for words in ("agrees better with people", "Cohen's kappa", "fails found", "right where the other is wrong"):
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
        (("a", "b", "--positive", "correct"), "--positive says how people's labels are read"),
        (("a", "b", "--scale", "1..4"), "--scale says how people's labels are read"),
        (("a", "short", "--gold", EXAMPLE / "labels.jsonl", "--gold", EXAMPLE / "labels.jsonl"), "one set of labels"),
        (("a", "short", "--gold", EXAMPLE / "labels.jsonl", "--label", "gold.tone"), "say which with --criterion"),
        (("a", "short", "-c", "tone"), "has no `tone`"),
        ((EXAMPLE / "cases.jsonl", "a"), "is a file, not a run; say which of the judges stored in it is meant"),
        ((EXAMPLE / "cases.jsonl", "a", "--judge-a", "stored:judges.x"), "no case has a verdict in `judges.x`"),
        (("a", "short", "--gold", EXAMPLE / "labels.jsonl", "--scale", "good"), "--scale good: write a,b,tie"),
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


def shared(name: str) -> Path:
    source = SHARED / "data" / name / "items.jsonl"
    if not source.exists():
        pytest.skip(f"{source} is not here")
    return source


def test_two_stored_judges_are_held_against_people_in_their_own_file(tmp_path: Path) -> None:
    source = shared("openqa_nq301")
    done = judges(
        "compare", source, source, "--judge-a", "stored:judges.gpt-4.correctness",
        "--judge-b", "stored:judges.bem.correctness", "--gold", source, "--cluster", "meta.item", "--json",
        folder=tmp_path,
    )  # fmt: skip
    [found] = json.loads(done.stdout)["comparisons"]
    assert (found["judge_a"], found["judge_b"], found["found"], found["failed_a"]) == ("gpt-4", "bem", "a", 2)
    assert found["kappa"]["kappa_b"]["value"] == pytest.approx(0.6157, abs=5e-5)  # FIGURES.md, 2b
    assert found["agreement"]["b"]["value"] == pytest.approx(0.8060, abs=5e-5)
    assert found["kappa"]["difference"]["n_clusters"] == 301


def test_preferences_with_ties_are_compared_by_kappa_over_all_labels(tmp_path: Path) -> None:
    source = shared("pandalm_pairwise")
    done = judges(
        "compare", source, source, "--judge-a", "stored:judges.gpt-3.5-turbo.preference",
        "--judge-b", "stored:judges.pandalm-7b.preference", "--gold", source, "--json", folder=tmp_path,
    )  # fmt: skip
    [found] = json.loads(done.stdout)["comparisons"]
    assert found["labels"] == ["a", "b", "tie"]
    assert found["agreement"]["a"]["value"] == pytest.approx(0.6977, abs=5e-5)  # FIGURES.md, 1
    assert found["agreement"]["b"]["value"] == pytest.approx(0.6677, abs=5e-5)
    assert found["kappa"]["kappa_b"]["value"] == pytest.approx(0.4354, abs=5e-5)


def test_without_labels_preferences_are_compared_by_what_is_preferred_and_none_of_it_is_good(tmp_path: Path) -> None:
    said = ["a", "b", "tie", "a", "b", "b", "invalid", "a"] * 5, ["a", "a", "tie", "b", "b", "b", "a", "a"] * 5
    records = [
        {
            "id": str(place),
            "question": f"{place}?",
            "answers": {"a": "yes", "b": "no"},
            "judges": {"m": {"preference": one, "preference_swapped": two}},
        }
        for place, (one, two) in enumerate(zip(*said, strict=True))
    ]
    source = tmp_path / "pairs.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    orders = ("--judge-a", "stored:judges.m.preference", "--judge-b", "stored:judges.m.preference_swapped")
    refused = judges("compare", source, source, *orders, folder=tmp_path, code=2)
    assert "-c preference says what they are about" in refused.stderr
    asked = ("compare", source, source, *orders, "-c", "preference")
    done = judges(*asked, "--cases", "2", folder=tmp_path)
    assert "A is m (stored); B is m.preference_swapped (stored)" in done.stdout
    assert "A: b           5  10    0        0" in done.stdout
    assert "13 more" in done.stdout
    assert "judges show" not in done.stdout
    [found] = json.loads(judges(*asked, "--json", folder=tmp_path).stdout)["comparisons"]
    assert found["labels"] == ["a", "b", "tie", "invalid"]
    assert found["matrix"]["invalid"] == {"a": 5, "b": 0, "tie": 0, "invalid": 0}
    assert found["agreement"]["value"] == pytest.approx(25 / 40)
    assert found["kappa"]["value"] == pytest.approx(cohen_kappa_score(*said))
    run = ("run", source, "-c", "preference", "-j", "stored:judges.m", "--max-failures", "1", "--out", "run")
    judges(*run, folder=tmp_path)
    mixed = ("compare", "run", source, *orders[2:], "-c", "preference", "--json")
    [found] = json.loads(judges(*mixed, folder=tmp_path).stdout)["comparisons"]
    assert found["left_out"] == {"a_failed": 5}
    assert found["agreement"]["value"] == pytest.approx(25 / 35)


def test_a_stored_judge_and_a_run_are_compared_by_people_s_grades(tmp_path: Path) -> None:
    source = shared("mtrag_human_eval")
    judges("run", source, "-c", "faithfulness", "-j", "overlap", "--out", "run", folder=tmp_path)
    asked = ("compare", source, "run", "--judge-a", "stored:judges.rl_f.faithfulness", "--gold", source)
    done = judges(*asked, folder=tmp_path)
    assert "faithfulness, by Spearman's correlation: " in done.stdout
    assert "a range is declared by --scale" in done.stdout
    [found] = json.loads(judges(*asked, "--scale", "1..4", "--json", folder=tmp_path).stdout)["comparisons"]
    assert found["decided_by"] == "spearman"
    assert found["errors"]["closer_a"] + found["errors"]["closer_b"] + found["errors"]["same"] == found["n"]
    assert found["errors"]["mae_a"]["value"] < found["errors"]["mae_b"]["value"]
