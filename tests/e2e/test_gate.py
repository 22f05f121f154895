import json
from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from xml.etree.ElementTree import parse

import pytest

from judges.cli.gate import gate as command
from judges.settings import GateSettings
from support.command import EXAMPLE, judges

MINE = """
import os
from judges import Abstained, Verdict

class Unsteady:
    name = "unsteady"
    fingerprint = "unsteady@1"

    def supports(self, criterion):
        return True

    async def judge(self, case, criterion, *, replicate=0):
        if case.id in os.environ.get("BROKEN", "").split():
            raise ValueError("no luck")
        return Verdict(0.9)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with what was retrieved and what is relevant; a worse system; a judge that fails on some cases."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    relevant: dict[str, list[str]] = {}
    for line in (EXAMPLE / "qrels.txt").read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split()
        if int(grade) >= 1:
            relevant.setdefault(query, []).append(document)
    cases = [json.loads(line) for line in (EXAMPLE / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    for place, case in enumerate(cases):
        case["retrieved"] = [context["id"] for context in case["contexts"]]
        case["relevant"] = relevant.get(case["id"], [])
        case["tier"] = "smoke" if place % 4 == 0 else "regression" if place % 2 else "deep"
    worse = [case | {"answer": f"{case['answer']} Everyone says so, on Mars as in Rome."} for case in cases]
    for name, records in (("good", cases), ("worse", worse)):
        text = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
        asked = ("-c", "faithfulness", "-c", "correctness", "-j", "overlap")
        judges("run", f"{name}.jsonl", *asked, "--out", name, folder=folder)
    judges(
        "run", "good.jsonl", "-c", "faithfulness", "-j", "mine:Unsteady", "--out", "unsteady", "--tier", "smoke",
        "--max-failures", "1", folder=folder, changes={"BROKEN": "en-01"},
    )  # fmt: skip
    return folder


BY_INTERVAL = "--by-interval"


def gate(home: Path, *arguments: str | Path, code: int = 0) -> str:
    return judges("gate", *arguments, folder=home, code=code).stdout


def test_a_requirement_that_the_whole_interval_meets_passes(home: Path) -> None:
    shown = gate(home, "good", BY_INTERVAL, "--require", "correctness>=0.25", "--require", "recall@1>=0.4")
    assert "PASS  correctness>=0.25  0.398 [0.285, 0.511]  by its interval, 44 cases" in shown
    assert "PASS  recall@1>=0.4      0.653 [0.502, 0.803]  by its interval, 36 cases" in shown
    assert "recall@1: 8 cases without a value left out" in shown
    assert shown.endswith("PASS: all 2 requirements are met\n")


def test_one_that_none_of_it_meets_fails_with_exit_code_1(home: Path) -> None:
    shown = gate(home, "good", BY_INTERVAL, "--require", "faithfulness.strict>=0.9", "--forbid", "failed>0", code=1)
    assert "FAIL  faithfulness.strict>=0.9  0.432 [0.281, 0.598]  by its interval, 37 cases" in shown
    assert "PASS  failed<=0                 0 of 88" in shown
    assert "FAIL: 1 not met, of 2 requirements" in shown
    assert "judges show good --worst 10" in shown


def test_one_in_between_is_undecided_and_fails_only_if_strict(home: Path) -> None:
    arguments = ("good", BY_INTERVAL, "--require", "faithfulness>=0.6")
    shown = gate(home, *arguments)
    assert "its interval lies on both sides of 0.6; about 3,600 more cases would tell, if the value stays" in shown
    assert "UNDECIDED: 1 undecided, of 1 requirement" in shown
    assert "--strict lets that fail" in gate(home, *arguments, "--strict", code=1)


def test_on_the_set_the_value_alone_decides_and_that_is_the_default_for_a_tier(home: Path) -> None:
    shown = gate(home, "good", "--require", "faithfulness>=0.55")
    assert "PASS  faithfulness>=0.55  0.589  on these 37 cases" in shown
    assert "these very cases are judged (each names its tier)" in shown
    assert "these very cases are judged;" in gate(home, "good", "--on-set", "--require", "faithfulness>=0.55")


def test_cases_that_can_not_be_answered_must_not_be(home: Path) -> None:
    shown = gate(home, "good", "--forbid", "answered_unanswerable>0", "--forbid", "refused_answerable>9", code=1)
    assert "FAIL  answered_unanswerable<=0  8 of 8" in shown
    assert "PASS  refused_answerable<=9     4 of 36" in shown
    said = ("I found nothing in the help centre", "no diu RES", "ne parlent pas", "nu se vorbeste")
    declared = [word for each in said for word in ("--refusal", each)]
    assert "4 of 8" in gate(home, "good", "--forbid", "answered_unanswerable>4", *declared)


def test_a_run_is_compared_with_a_baseline_case_by_case(home: Path) -> None:
    shown = gate(home, "worse", BY_INTERVAL, "--against", "good", "--max-drop", "0.02", code=1)
    assert "FAIL  drop(faithfulness)<=0.02  0." in shown
    assert "faithfulness: 0.589 in the baseline, 0." in shown
    assert "fell most: " in shown
    assert "[interval of level 0.975]" in shown
    shown = gate(home, "worse", "--against", "good", "--max-drop", "recall@1=0.01")
    assert "PASS  drop(recall@1)<=0.01  0.000  the very same in both, 36 cases" in shown
    assert "PASS: all 2 requirements are met" in gate(home, "good", "--against", "worse", BY_INTERVAL)


def test_nothing_passes_when_too_many_judgements_failed(home: Path) -> None:
    arguments = ("unsteady", "--require", "faithfulness>=0.5")
    shown = gate(home, *arguments, code=3)
    assert "9% of the judgements failed or are missing, more than 5%" in shown
    assert "PASS" in gate(home, *arguments, "--max-failures", "0.1")
    assert "FAIL" in gate(home, "unsteady", "--require", "faithfulness>=0.95", code=1)


def test_a_tier_has_the_smaller_ones_in_it(home: Path) -> None:
    for tier, count in (("smoke", 11), ("regression", 33), ("deep", 44)):
        done = judges("run", "good.jsonl", "-c", "correctness", "-j", "overlap", "--tier", tier, folder=home)
        assert f"{count} cases from good.jsonl" in done.stdout
    folders = {path.name for path in (home / "runs").iterdir()}
    assert len(folders) == 3
    done = judges(
        "run", EXAMPLE / "cases.jsonl", "-c", "correctness", "-j", "overlap", "--tier", "smoke", folder=home, code=2
    )
    assert "no case is of tier smoke; mark those that are with the field `tier`" in done.stderr


def test_the_settings_may_say_what_is_required(home: Path) -> None:
    (home / "gates.toml").write_text(
        '[gates]\nrequire = ["faithfulness>=0.5"]\nforbid = ["failed>0"]\nagainst = "good"\nmax_drop = 0.02\n'
        "on_set = true\nstrict = true\n",
        encoding="utf-8",
    )
    shown = gate(home, "good", "--config", "gates.toml")
    assert "PASS: all 4 requirements are met" in shown
    done = judges("gate", "good", "--config", "gates.toml", "--require", "correctness>=0.35", folder=home)
    assert "PASS: all 3 requirements are met" in done.stdout
    assert "the requirements given here go instead of those of [gates]" in done.stderr


def test_the_settings_may_hold_all_that_the_command_takes(home: Path) -> None:
    asked = ("-c", "correctness", "-j", "overlap", "--out", "settled")
    judges("run", EXAMPLE / "cases.jsonl", *asked, folder=home)
    (home / "qrels.toml").write_text(
        f"[gates]\nrequire = ['recall@3>=0.5']\nforbid = ['answered_unanswerable>0']\n"
        f"qrels = '{(EXAMPLE / 'qrels.txt').as_posix()}'\ncomplete = true\n",
        encoding="utf-8",
    )
    shown = gate(home, "settled", "--config", "qrels.toml", code=1)
    assert "PASS  recall@3>=0.5             0.806 [0.670, 0.941]" in shown
    assert "FAIL  answered_unanswerable<=0  8 of 8" in shown
    (home / "fields.toml").write_text(
        "[gates]\nforbid = ['answered_unanswerable>0', 'refused_answerable>0']\n"
        "unanswerable = ['lang=ca']\nanswerable = ['lang=fr']\n",
        encoding="utf-8",
    )
    forbidden = ("settled", "--forbid", "answered_unanswerable>0", "--forbid", "refused_answerable>0")
    told = ("--unanswerable", "lang=ca", "--answerable", "lang=fr")
    assert gate(home, "settled", "--config", "fields.toml", code=1) == gate(home, *forbidden, *told, code=1)
    other = ("--unanswerable", "lang=ro")  # goes instead of both
    assert gate(home, "settled", "--config", "fields.toml", *other, code=1) == gate(home, *forbidden, *other, code=1)
    for table, complaint in (
        ("complete = true", "[gates] `complete` says that the qrels are complete; give `qrels` there, too"),
        ("answerable = ['lang']", "[gates] answerable `lang`: write it as FIELD=VALUE"),
    ):
        (home / "wrong.toml").write_text(f"[gates]\nforbid = ['failed>0']\n{table}\n", encoding="utf-8")
        done = judges("gate", "settled", "--config", "wrong.toml", folder=home, code=2)
        assert complaint in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_whatever_the_command_takes_has_a_place_in_the_settings_but_where_output_goes() -> None:
    taken = set(signature(command).parameters) - {"run", "config", "json", "junit"}
    assert taken == set(GateSettings.model_fields)


def test_of_a_document_retrieved_twice_the_first_copy_is_kept_on_demand(tmp_path: Path) -> None:
    home = run_of(tmp_path, "twice", {"answer": "A.", "retrieved": ["d1", "d1", "d2"], "relevant": ["d2"]})
    asked = ("twice", "--on-set", "--require", "RR>=0.5")
    done = judges("gate", *asked, folder=home, code=2)
    assert 'document "d1" is retrieved twice; mend the ranking, or keep the first copy' in done.stderr
    assert "--keep-first" in done.stderr
    assert "RR>=0.5      0.500" in gate(home, *asked, "--keep-first")
    (home / "kept.toml").write_text("[gates]\nkeep_first = true\n", encoding="utf-8")
    assert "RR>=0.5      0.500" in gate(home, *asked, "--config", "kept.toml")


def test_the_report_is_junit_xml(home: Path) -> None:
    gate(home, "good", "--require", "faithfulness>=0.9", "--require", "correctness>=0.35", "--junit", "g.xml", code=1)
    [suite] = parse(home / "g.xml").getroot()  # noqa: S314  our own report
    assert [(test.attrib["name"], [child.tag for child in test]) for test in suite] == [
        ("faithfulness>=0.9", ["failure"]),
        ("correctness>=0.35", []),
    ]


def test_json_is_one_document(home: Path) -> None:
    arguments = ("good", BY_INTERVAL, "--require", "faithfulness>=0.6", "--against", "worse")
    document = json.loads(gate(home, *arguments, "--json"))
    assert (document["status"], document["exit_code"], document["strict"]) == ("UNDECIDED", 0, False)
    assert [each["status"] for each in document["results"]] == ["UNDECIDED", "PASS", "PASS"]
    assert document["results"][0]["more_cases"] == 3555
    assert document["results"][1]["drop"]["figure"]["value"] < 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("good",), "nothing to hold the run against"),
        (("nothing", "--require", "faithfulness>=0.9"), "not a run"),
        (("good", "--require", "faithfulnes>=0.9"), "no figure `faithfulnes`; there are faithfulness"),
        (("good", "--require", "faithfulness"), "is no requirement"),
        (("good", "--forbid", "failed==1"), "can't be forbidden"),
        (("good", "--require", "faithfulness>=0.5", "--max-drop", "0.1"), "name its folder with --against"),
        (("good", "--against", "worse", "--max-drop", "2"), "is no largest drop"),
        (("good", "--against", "worse", "--max-drop", "0.1", "--max-drop", "0.2"), "given twice"),
        (("good", "--against", "worse", "--max-drop", "failed=0.1"), "can't be compared case by case"),
        (("good", "--against", "unsteady"), "no criterion was judged by the same judge"),
        (("good", "--require", "correctness>=0.1", "--junit", "mine.py"), "holds something else than XML"),
    ],
    ids=str,
)
def test_wrong_usage_gets_one_clear_line_and_exit_code_2(home: Path, arguments: tuple[str, ...], message: str) -> None:
    done = judges("gate", *arguments, folder=home, code=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def run_of(folder: Path, name: str, *records: Mapping[str, object]) -> Path:
    """A run over cases of which none has `retrieved`."""
    text = "".join(json.dumps({"id": f"q{at}", "question": "?", **each}) + "\n" for at, each in enumerate(records))
    (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    judges("run", f"{name}.jsonl", "-c", "answer_relevance", "-j", "overlap", "--out", name, folder=folder)
    return folder


def passages(*names: str) -> list[dict[str, str]]:
    return [{"id": name, "text": f"Text of {name}."} for name in names]


def test_passages_stand_in_for_what_was_retrieved_and_that_is_said(tmp_path: Path) -> None:
    home = run_of(
        tmp_path,
        "shown",
        {"answer": "A.", "contexts": passages("d1", "d2"), "relevant": ["d2"]},
        {"answer": "A.", "contexts": passages("d3"), "relevant": ["d9"]},
        {"answer": "A.", "contexts": [], "relevant": ["d4"]},
    )
    shown = gate(home, "shown", "--on-set", "--require", "recall@2>=0.3", "--require", "RR<=0.2")
    assert "recall@2>=0.3  0.333" in shown  # nothing was found for the last one: 1, 0 and 0
    assert "RR<=0.2        0.167" in shown
    assert "recall@2: the passages of 3 answers stand in for `retrieved`" in shown
    told = json.loads(gate(home, "shown", "--on-set", "--require", "recall@2>=0.3", "--json"))
    assert told["results"][0]["passages_stand_in"] == 3


def test_right_passages_that_were_given_measure_no_retrieval(tmp_path: Path) -> None:
    right = {"answer": "A.", "contexts": passages("d1"), "relevant": ["d1"], "pipeline": {"gold_passages": True}}
    home = run_of(tmp_path, "given", right)
    done = judges("gate", "given", "--require", "recall@2>=0.3", folder=home, code=2)
    assert "its cases were given the right passages, so there is no retrieval to measure" in done.stderr
    home = run_of(tmp_path, "mixed", right, {"answer": "A.", "contexts": passages("d1"), "relevant": ["d2"]})
    shown = gate(home, "mixed", "--on-set", "--require", "recall@2<=0")
    assert "recall@2: 1 answer left out, given the right passages" in shown


def test_a_field_may_say_what_can_be_answered(tmp_path: Path) -> None:
    kinds = [{"kind": "none", "answer": "In 1932."}, {"kind": "none", "answer": "I don't know."}]
    home = run_of(tmp_path, "kinds", *kinds, {"kind": "some", "answer": "I don't know."})
    asked = ("kinds", "--forbid", "answered_unanswerable>0", "--forbid", "refused_answerable>0")
    assert "answerable`, true or false" in judges("gate", *asked, folder=home, code=2).stderr
    shown = gate(home, *asked, "--unanswerable", "kind=none", "--answerable", "kind=some", code=1)
    assert "FAIL  answered_unanswerable<=0  1 of 2" in shown
    assert "FAIL  refused_answerable<=0     1 of 1" in shown
    for field, said in (("kind", "FIELD=VALUE"), ("kind=other", "no case has kind `other`")):
        assert said in judges("gate", *asked, "--unanswerable", field, folder=home, code=2).stderr


def test_answers_to_one_case_are_no_more_cases_than_one(tmp_path: Path) -> None:
    said = ["In 1932.", "I don't know.", "I don't know."]
    home = run_of(
        tmp_path, "again", *({"answer": each, "answerable": False, "repeat_of": "a"} for each in said),
        {"answer": "I don't know.", "answerable": False},
    )  # fmt: skip
    shown = gate(home, "again", "--forbid", "answered_unanswerable>0", code=1)
    assert "0.33 of 2" in shown
    assert "of a case asked several times the share of its answers counts (4 answers)" in shown


def test_qrels_may_say_what_is_relevant_and_what_can_not_be_answered(home: Path) -> None:
    asked = ("-c", "correctness", "-j", "overlap", "--out", "plain")
    judges("run", EXAMPLE / "cases.jsonl", *asked, folder=home)
    qrels = ("--qrels", str(EXAMPLE / "qrels.txt"))
    required = ("--require", "recall@3>=0.5", "--require", "nDCG@3>=0.5")
    shown = gate(home, "plain", *qrels, *required)
    assert "PASS  recall@3>=0.5  0.806 [0.670, 0.941]  by its interval, 36 cases" in shown
    assert "recall@3: the passages of 36 answers stand in for `retrieved`" in shown
    forbidden = ("--forbid", "answered_unanswerable>0")
    shown = gate(home, "plain", *qrels, "--complete", *forbidden, code=1)
    assert "FAIL  answered_unanswerable<=0  8 of 8" in shown
    strangers = home / "strangers.txt"
    strangers.write_text("nobody 0 en-backup-1 1\n", encoding="utf-8")
    for wrong, complaint in (
        (("--complete",), "--complete says that the qrels are complete; give --qrels"),
        (("--qrels", "strangers.txt"), "none of its cases is in the qrels"),
    ):
        done = judges("gate", "plain", *wrong, *forbidden, folder=home, code=2)
        assert complaint in done.stderr
        assert len(done.stderr.splitlines()) == 1
