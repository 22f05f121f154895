import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import EXAMPLE, SHARED, environment, judges

CASES = EXAMPLE / "cases.jsonl"
RUN = ("--criterion", "faithfulness", "--criterion", "correctness", "--judge", "overlap")


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_a_run_prints_its_summary_and_where_it_is(tmp_path: Path) -> None:
    done = judges("run", CASES, *RUN, "--out", "runs/one", folder=tmp_path)
    assert "faithfulness" in done.stdout
    assert "correctness" in done.stdout
    assert "no_contexts 3" in done.stdout
    assert "run folder: runs/one" in done.stdout
    assert done.stderr == ""


def test_json_is_one_document_on_standard_output(tmp_path: Path) -> None:
    done = judges("run", CASES, *RUN, "--out", "one", "--json", folder=tmp_path)
    summary = json.loads(done.stdout)
    assert [row["criterion"] for row in summary["rows"]] == ["faithfulness", "correctness"]
    faithfulness = summary["rows"][0]
    assert faithfulness["abstained"]["no_contexts"] == 3
    assert faithfulness["judged"] == 44 - sum(faithfulness["abstained"].values())
    assert 0 < faithfulness["mean"]["ci_low"] < faithfulness["mean"]["value"] < faithfulness["mean"]["ci_high"] < 1


def test_the_same_command_resumes_in_the_folder_named_after_its_arguments(tmp_path: Path) -> None:
    first = judges("run", CASES, *RUN, folder=tmp_path)
    second = judges("run", CASES, *RUN, folder=tmp_path)
    assert first.stdout == second.stdout
    assert "resumed: 88 of 88 judgements were there already, 0 made now" in second.stderr
    judges("run", CASES, "--criterion", "faithfulness", "--judge", "overlap", folder=tmp_path)
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_cases_come_from_standard_input_too(tmp_path: Path) -> None:
    piped = judges("run", "-", *RUN, "--out", "one", "--json", folder=tmp_path, stdin=CASES.read_bytes())
    read = judges("run", CASES, *RUN, "--out", "two", "--json", folder=tmp_path)
    assert json.loads(piped.stdout)["rows"] == json.loads(read.stdout)["rows"]


def test_other_field_names_are_mapped(tmp_path: Path) -> None:
    write(
        tmp_path / "other.jsonl",
        {"no": 7, "query": "Who?", "docs": ["It was Ann."], "reply": "Ann.", "golds": ["Ann"], "kind": "short"},
    )
    maps = [option for pair in ("id=no", "question=query", "contexts=docs", "answer=reply", "reference=golds.0")
            for option in ("--map", pair)]  # fmt: skip
    done = judges("run", "other.jsonl", *RUN, *maps, "--out", "one", "--json", folder=tmp_path)
    assert [row["judged"] for row in json.loads(done.stdout)["rows"]] == [1, 1]
    shown = judges("show", "one", "--by", "kind", folder=tmp_path)
    assert "short" in shown.stdout


def test_an_invalid_record_stops_the_run_before_anything_is_judged(tmp_path: Path) -> None:
    write(tmp_path / "cases.jsonl", {"id": "a", "answer": "x"}, {"id": "b"}, {"answer": "y"})
    done = judges("run", "cases.jsonl", *RUN, "--out", "one", folder=tmp_path, code=2)
    assert "cases.jsonl:2: `answer` is missing; map another field with --map answer=FIELD" in done.stderr
    assert "cases.jsonl:3: `id` is missing" in done.stderr
    assert "2 invalid records, nothing was judged; --skip-invalid leaves them out" in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "one" / "ledger.jsonl").exists()


def test_invalid_records_are_skipped_on_demand_counted_and_listed(tmp_path: Path) -> None:
    write(tmp_path / "cases.jsonl", {"id": "a", "answer": "x", "contexts": ["x"], "reference": "x"}, {"id": "b"})
    done = judges("run", "cases.jsonl", *RUN, "--skip-invalid", "--out", "one", folder=tmp_path)
    assert "skipped 1 invalid record" in done.stderr
    assert "cases.jsonl:2: `answer` is missing" in done.stderr
    assert "1 invalid record" in done.stdout


def test_many_invalid_records_are_all_counted_and_not_all_listed(tmp_path: Path) -> None:
    write(tmp_path / "cases.jsonl", {"id": "a", "answer": "x"}, *({"id": f"b{n}"} for n in range(1500)))
    done = judges("run", "cases.jsonl", *RUN, "--skip-invalid", "--out", "one", "--json", folder=tmp_path)
    assert json.loads(done.stdout)["invalid"] == 1500
    assert "skipped 1,500 invalid records:" in done.stderr
    assert "  and 1,490 more" in done.stderr


def test_a_part_that_no_case_has_is_pointed_out(tmp_path: Path) -> None:
    write(tmp_path / "cases.jsonl", {"id": "a", "answer": "x", "docs": ["x"]})
    done = judges("run", "cases.jsonl", "-c", "faithfulness", "-j", "overlap", "--out", "one", folder=tmp_path)
    assert "no case has `contexts`, which `faithfulness` needs; map a field with --map contexts=FIELD" in done.stderr
    assert "abstained (no_contexts 1)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.jsonl", *RUN), "nothing.jsonl: there is no such file"),
        ((".", *RUN), "directory"),
        ((CASES, "--criterion", "faithfulnes", "--judge", "overlap"), "did you mean `faithfulness`?"),
        ((CASES, "--criterion", "faithfulness", "--judge", "overlp"), "did you mean `overlap`?"),
        ((CASES, "--criterion", "faithfulness", "--judge", "nothing_here:Judge"), "can't be imported"),
        ((CASES, *RUN, "--map", "question"), "should be OURS=THEIRS"),
        ((CASES, *RUN, "--map", "id=a", "--map", "id=b"), "`id` is given twice"),
        ((CASES, *RUN, "--map", "quastion=query"), "question"),
        ((CASES, *RUN, "--format", "xml"), "jsonl"),
        ((CASES, "--judge", "overlap"), "--criterion"),
        ((CASES, *RUN, "--workers", "0"), "--workers"),
        ((CASES, *RUN, "--tier", "huge"), "'huge' is not one of"),
        ((CASES, *RUN, "--nope"), "no such option: --nope"),
        ((CASES, *RUN, "--samples", "5"), "--samples has no effect on `overlap`, only on openai:MODEL"),
        ((CASES, "-c", "answered", "--refresh"), "--refresh has no effect on plain checks"),
        ((CASES, *RUN, "--no-cache", "--cache", "here"), "--no-cache and --cache exclude each other"),
        ((CASES, *RUN, "--no-cache", "--offline"), "exclude each other"),
        ((CASES, *RUN, "--no-rationale", "--rationale-in", "French"), "--no-rationale and --rationale-in exclude"),
        ((CASES, *RUN, "--reader", "mine:read", "--skip-invalid"), "--skip-invalid is for our own readers"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_wrong_usage_gets_one_clear_line_and_exit_code_2(
    tmp_path: Path, arguments: tuple[str | Path, ...], message: str
) -> None:
    done = judges("run", *arguments, "--out", "one", folder=tmp_path, code=2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_too_many_failures_exit_with_3_and_are_tried_again(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import os\n"
        "from judges import Verdict\n"
        "class Broken:\n"
        "    name = 'broken'\n"
        "    fingerprint = 'broken@1'\n"
        "    def supports(self, criterion): return True\n"
        "    async def judge(self, case, criterion, *, replicate=0):\n"
        "        if os.environ.get('BROKEN'): raise RuntimeError('out of order')\n"
        "        return Verdict(1.0)\n",
        encoding="utf-8",
    )
    arguments = ("run", CASES, "-c", "faithfulness", "-j", "mine:Broken", "--out", "one")
    done = judges(*arguments, folder=tmp_path, changes={"BROKEN": "1"}, code=3)
    assert "44 of 44 judgements failed" in done.stderr
    assert "the mean would be 0.00 had all of them gone badly, 1.00 had all gone well" in done.stdout
    assert "44 made now" not in judges(*arguments, folder=tmp_path).stderr


def test_a_service_that_stops_us_exits_with_5(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from judges import Unauthorised\n"
        "class Keyless:\n"
        "    name = 'keyless'\n"
        "    fingerprint = 'keyless@1'\n"
        "    def supports(self, criterion): return True\n"
        "    async def judge(self, case, criterion, *, replicate=0):\n"
        "        raise Unauthorised('the key is not accepted; set MY_KEY')\n",
        encoding="utf-8",
    )
    done = judges("run", CASES, "-c", "faithfulness", "-j", "mine:Keyless", "--out", "one", folder=tmp_path, code=5)
    assert done.stderr.strip() == "judges: the key is not accepted; set MY_KEY"


def test_an_own_criterion_and_an_own_reader_are_found_in_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from judges import Case, Criterion, Part\n"
        "PRAISED = Criterion('praised', Part.ANSWER, Part.QUESTION)\n"
        "def read(path):\n"
        "    for number, line in enumerate(path.read_text(encoding='utf-8').splitlines()):\n"
        "        yield Case(str(number), question='praise', answer=line)\n",
        encoding="utf-8",
    )
    (tmp_path / "lines.txt").write_text("praise be\nnothing\n", encoding="utf-8")
    done = judges("run", "lines.txt", "-c", "mine:PRAISED", "-j", "overlap", "--reader", "mine:read", "--out", "one",
                  "--json", folder=tmp_path)  # fmt: skip
    assert json.loads(done.stdout)["rows"][0]["mean"]["value"] == 0.5


def test_only_so_many_cases_are_judged_on_demand(tmp_path: Path) -> None:
    done = judges("run", CASES, *RUN, "--limit", "5", "--out", "one", "--json", folder=tmp_path)
    assert json.loads(done.stdout)["cases"] == 5


def test_a_default_language_judges_again_only_the_cases_without_their_own(tmp_path: Path) -> None:
    write(
        tmp_path / "cases.jsonl",
        {"id": "a", "answer": "x", "contexts": ["x"], "lang": "ca"},
        {"id": "b", "answer": "x y", "contexts": ["x"]},
    )
    arguments = ("run", "cases.jsonl", "-c", "faithfulness", "-j", "overlap", "--out", "one")
    judges(*arguments, folder=tmp_path)
    assert (
        "1 of 2 judgements were there already, 1 made now" in judges(*arguments, "--lang", "fr", folder=tmp_path).stderr
    )


def test_a_corrupt_line_in_the_ledger_is_named(tmp_path: Path) -> None:
    judges("run", CASES, *RUN, "--out", "one", folder=tmp_path)
    ledger = tmp_path / "one" / "ledger.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join([*lines[:4], b"garbage\n", *lines[5:]]))
    for arguments in (("run", CASES, *RUN, "--out", "one"), ("show", "one")):
        assert "ledger.jsonl:5: not a judgement" in judges(*arguments, folder=tmp_path, code=2).stderr


@pytest.mark.parametrize(
    ("name", "criteria", "asked", "without_contexts"),
    [("mtrag_human_eval", "faithfulness", 477, 27), ("openqa_nq301", "correctness", 1490, 0)],
)
def test_real_datasets_run_as_they_are(
    tmp_path: Path, name: str, criteria: str, asked: int, without_contexts: int
) -> None:
    source = SHARED / "data" / name / "items.jsonl"
    if not source.exists():
        pytest.skip(f"{source} is not here")
    done = judges("run", source, "-c", criteria, "-j", "overlap", "--out", "one", "--json", folder=tmp_path)
    [row] = json.loads(done.stdout)["rows"]
    assert row["asked"] == asked
    assert row["abstained"].get("no_contexts", 0) == without_contexts
    assert row["judged"] > 0.97 * (asked - without_contexts)
    assert row["failed"] == {}


def test_failures_are_counted_by_case_also_where_cases_share_a_judgement(tmp_path: Path) -> None:
    records = [{"id": f"s{n}", "answer": "the same"} for n in range(50)]
    records += [{"id": f"d{n}", "answer": f"another {n}"} for n in range(50)]
    write(tmp_path / "cases.jsonl", *records)
    (tmp_path / "mine.py").write_text(
        "from judges import Criterion, Part, Verdict\n"
        "MINE = Criterion('mine', Part.ANSWER)\n"
        "class Judge:\n"
        "    name = 'mine'\n"
        "    fingerprint = 'mine@1'\n"
        "    def supports(self, criterion): return True\n"
        "    async def judge(self, case, criterion, *, replicate=0):\n"
        "        if case.answer == 'the same': raise RuntimeError('not this one')\n"
        "        return Verdict(1.0)\n",
        encoding="utf-8",
    )
    done = judges("run", "cases.jsonl", "-c", "mine:MINE", "-j", "mine:Judge", "--out", "one", folder=tmp_path, code=3)
    assert "50 of 100 judgements failed" in done.stderr
    assert "49 judgements taken over from cases with the very same content" in done.stderr


def test_a_run_folder_never_takes_the_place_of_the_user_s_files(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.jsonl", {"id": "a", "answer": "x"}, {"id": "b", "answer": "y"})
    before = path.read_bytes()
    for out in (".", ""):
        done = judges("run", "cases.jsonl", *RUN, "--out", out, folder=tmp_path, code=2)
        assert "holds other files and is no run" in done.stderr
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise OSError('gone')", "reader `mine:read`: failed on x (OSError: gone)"),
        ("return None", "reader `mine:read`: failed on x (TypeError"),
        ("raise SystemExit('bye')", "reader `mine:read`: failed on x (SystemExit: bye)"),
        ("return [{'id': 'a'}]", "is no Case"),
        ("return [Case('a'), Case('a')]", "two cases have the id `a`"),
        ("return [Case('a', references='x')]", "`references` is 'x'; give a tuple of str"),
        ("return []", "no case was found, so nothing was judged"),
    ],
)
def test_what_a_reader_of_the_user_s_does_wrong_is_said_in_one_line(tmp_path: Path, body: str, message: str) -> None:
    (tmp_path / "mine.py").write_text(f"from judges import Case\ndef read(path):\n    {body}\n", encoding="utf-8")
    done = judges("run", "x", *RUN, "--reader", "mine:read", "--out", "one", folder=tmp_path, code=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_judge_that_ends_the_process_when_it_is_made_is_refused(tmp_path: Path) -> None:
    done = judges("run", CASES, "-c", "faithfulness", "-j", "sys:exit", folder=tmp_path, code=2)
    assert "judge `sys:exit`: can't be made (SystemExit" in done.stderr


def test_of_a_pair_the_first_answer_is_judged_and_that_is_said(tmp_path: Path) -> None:
    write(tmp_path / "cases.jsonl", {"id": "p", "reference": "Ann", "answers": {"a": "Ann", "b": "Bob"}})
    arguments = ("run", "cases.jsonl", "-c", "correctness", "-j", "overlap", "--json")
    first = judges(*arguments, "--out", "one", folder=tmp_path)
    assert "only `answers.a` is judged; the other one with --map answer=answers.b" in first.stderr
    second = judges(*arguments, "--out", "two", "--map", "answer=answers.b", folder=tmp_path)
    means = [json.loads(done.stdout)["rows"][0]["mean"]["value"] for done in (first, second)]
    assert means == [1.0, 0.0]


def test_the_threshold_of_a_run_stays_with_it(tmp_path: Path) -> None:
    judges("run", CASES, *RUN, "--out", "one", "--threshold", "0.9", folder=tmp_path)
    rows = json.loads(judges("show", "one", "--json", folder=tmp_path).stdout)["rows"]
    assert {row["threshold"] for row in rows} == {0.9}
    again = judges("run", CASES, *RUN, "--out", "one", folder=tmp_path)
    assert "0 made now" in again.stderr
    assert "from 0.35" in again.stdout


@pytest.mark.skipif(os.name == "nt", reason="names of files are text on Windows")
def test_a_file_whose_name_is_no_text_can_be_judged(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.jsonl")
    try:
        (tmp_path / name).write_bytes(CASES.read_bytes())
    except OSError:
        pytest.skip("this file system wants names in UTF-8")
    judges("run", name, *RUN, "--out", "one", folder=tmp_path)
    assert "44 cases from" in judges("show", "one", folder=tmp_path).stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_output_that_can_not_be_written_is_said_so(tmp_path: Path) -> None:
    judges("run", CASES, *RUN, "--out", "one", folder=tmp_path)
    for arguments in (["export", "one"], ["show", "one"]):
        with Path("/dev/full").open("w", encoding="utf-8") as full:
            done = subprocess.run(
                [sys.executable, "-m", "judges", *arguments],
                cwd=tmp_path, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            )  # fmt: skip
        assert done.returncode == 2
        assert "the output can't be written" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX closes the output here")
def test_closed_output_is_no_bug(tmp_path: Path) -> None:
    command = f"{sys.executable} -m judges run {CASES} -c faithfulness -j overlap --out one >&-"
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "command",
    [
        ("run", "cases.jsonl", "-c", "correctness", "-j"),
        ("plan", "cases.jsonl", "-c", "correctness", "-j"),
        ("calibrate", "cases.jsonl", "-j"),
        ("compare", "cases.jsonl", "cases.jsonl", "--judge-b", "stored:judges.m.correctness", "--judge-a"),
    ],
    ids=lambda command: command[0],
)
def test_a_misspelt_field_of_stored_verdicts_is_refused_and_one_that_some_cases_lack_is_not(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    records = [
        {
            "id": str(place),
            "answer": "?",
            "references": ["!"],
            "gold": {"correctness": "correct" if place % 2 else "incorrect"},
            "judges": {"m": {"correctness": "correct"}} | ({} if place < 2 else {"m-4": {"correctness": "correct"}}),
        }
        for place in range(6)
    ]
    write(tmp_path / "cases.jsonl", *records)
    done = judges(*command, "stored:judges.m4.correctness", folder=tmp_path, code=2)
    assert "no case has a verdict in `judges.m4.correctness`; did you mean `judges.m-4.correctness`?" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
    assert judges(*command, "stored:judges.m-4.correctness", folder=tmp_path).stdout


def test_stored_verdicts_that_are_none_count_over_the_whole_file_and_nobody_is_told_to_ask_a_model_anew(
    tmp_path: Path,
) -> None:
    records = [
        {"id": str(place), "answer": f"{place}?", "references": ["!"], "judges": {"m": {"correctness": word}}}
        for place, word in enumerate(["invalid"] * 10 + ["correct"] * 390)
    ]
    command = ("run", write(tmp_path / "cases.jsonl", *records), "-c", "correctness", "-j", "stored:judges.m")
    done = judges(*command, "--workers", "1", "--out", "one", folder=tmp_path)  # 2.5% of all, and 10 of the first 60
    assert "failed (InvalidReply 10)" in done.stdout
    assert done.stderr == ""
    done = judges(*command, "--max-failures", "0.02", "--out", "one", folder=tmp_path, code=3)
    assert "10 of 400 judgements failed" in done.stderr
    assert (
        "holds `invalid`, no number and none of incorrect, correct; it counts as failed: mend the file" in done.stderr
    )
    assert "--refresh" not in done.stderr
