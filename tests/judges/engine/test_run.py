import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from judges import Case, InputError, LedgerError, Run, evaluate_sync
from judges.engine.run import Manifest
from support.builders import ANSWERED, CountingJudge, make_cases


def run_of(path: Path, count: int = 3) -> Run:
    evaluate_sync(make_cases(count), ANSWERED, CountingJudge(), out=path)
    return Run(path)


def test_a_manifest_comes_back_from_its_record(tmp_path: Path) -> None:
    manifest = run_of(tmp_path / "run").manifest()
    assert Manifest.from_record(json.loads(json.dumps(manifest.to_record()))) == manifest


def test_what_is_shown_is_of_the_cases_and_criteria_of_today(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", 3)
    before = run.ledger_path.read_bytes()
    evaluate_sync(make_cases(2), ANSWERED, CountingJudge(), out=run.path)
    assert run.ledger_path.read_bytes() == before
    assert [row.case.id for row in run.rows(run.manifest())] == ["c0", "c1"]


def test_what_is_not_judged_yet_is_none_and_not_left_out(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", 3)
    lines = run.ledger_path.read_bytes().splitlines(keepends=True)
    run.ledger_path.write_bytes(b"".join(lines[:2]))
    assert [row.judgements[0][1] is None for row in run.rows(run.manifest())] == [False, False, True]
    run.ledger_path.unlink()
    assert all(row.judgements[0][1] is None for row in run.rows(run.manifest()))
    assert len(run.stored(run.manifest())) == 0


def test_a_second_process_is_refused_while_the_first_judges(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    code = f"from judges import Run\nwith Run({str(run.path)!r}).locked(): pass"
    with run.locked():
        refused = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "another process is judging into this run" in refused.stderr
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_cases_that_can_not_be_read_leave_the_run_as_it_was(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    before = sorted((path.name, path.read_bytes()) for path in run.path.iterdir())
    with pytest.raises(InputError, match="two cases"):
        evaluate_sync([Case("a"), Case("a")], ANSWERED, CountingJudge(), out=run.path)
    assert sorted((path.name, path.read_bytes()) for path in run.path.iterdir()) == before


def test_a_refused_run_leaves_no_folder_but_whatever_somebody_else_has_put_there(tmp_path: Path) -> None:
    def cases() -> Iterator[Case]:
        (tmp_path / "new" / "notes.txt").write_text("mine", encoding="utf-8")
        yield Case("a")
        raise InputError("no more")

    for place, left in (("other/run", []), ("new/run", ["new", "new/notes.txt"])):
        with pytest.raises(InputError):
            evaluate_sync(cases() if left else [Case("a"), Case("a")], ANSWERED, CountingJudge(), out=tmp_path / place)
        there = sorted(each.relative_to(tmp_path).as_posix() for each in tmp_path.rglob("*"))
        assert there == left


def test_extra_fields_that_are_no_json_name_their_case(tmp_path: Path) -> None:
    strange = Case("c1", answer="x", extra={"when": object()})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="case `c1`: can't be written as JSON"):
        evaluate_sync([strange], ANSWERED, CountingJudge(), out=tmp_path / "run")


def test_a_folder_that_is_no_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a run"):
        Run(tmp_path).manifest()
    with pytest.raises(InputError, match="not a run"):
        Run(tmp_path / "nothing").manifest()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 1}', '{"format": 1, "source": 3, "assignments": 4}'])
def test_a_damaged_manifest_says_what_to_do(tmp_path: Path, text: str) -> None:
    run = run_of(tmp_path / "run")
    (run.path / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(LedgerError, match="damaged; run the same"):
        run.manifest()


def test_a_run_of_another_version_is_refused(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    (run.path / "run.json").write_text('{"format": 99}', encoding="utf-8")
    with pytest.raises(LedgerError, match="another version of Judges"):
        run.manifest()


def test_damaged_cases_name_their_line(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    lines = (run.path / "cases.jsonl").read_bytes().splitlines(keepends=True)
    (run.path / "cases.jsonl").write_bytes(lines[0] + b"{}\n" + lines[2])
    with pytest.raises(LedgerError, match=r"cases\.jsonl:2: damaged"):
        list(run.cases())


def test_a_place_where_no_folder_can_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(LedgerError, match="--out"), Run(tmp_path / "file" / "run").locked():
        pass


def test_a_folder_with_files_of_the_user_s_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text("mine", encoding="utf-8")
    with pytest.raises(LedgerError, match="holds other files and is no run; choose another folder with --out"):
        run_of(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["cases.jsonl"]
    assert (tmp_path / "cases.jsonl").read_text(encoding="utf-8") == "mine"


def test_a_run_whose_lock_file_was_lost_goes_on(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    (run.path / ".judges-lock").unlink()
    assert len(run_of(run.path).stored(run.manifest())) == 3


def test_a_run_of_another_version_is_not_overwritten(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    (run.path / "run.json").write_text('{"format": 99}', encoding="utf-8")
    with pytest.raises(LedgerError, match="another version of Judges"):
        run_of(run.path)
    assert (run.path / "run.json").read_text(encoding="utf-8") == '{"format": 99}'


@pytest.mark.parametrize(
    "damage", ['"score":7.5', '"score":"x"', '"score":null', '"unknown":1,"score":0.5', '"scare":0.5'], ids=repr
)
def test_a_judgement_that_was_changed_by_hand_names_its_line(tmp_path: Path, damage: str) -> None:
    run = run_of(tmp_path / "run")
    lines = run.ledger_path.read_text(encoding="utf-8").splitlines(keepends=True)
    lines[1] = re.sub(r'"score":[0-9.]+', damage, lines[1])
    run.ledger_path.write_text("".join(lines), encoding="utf-8")
    with pytest.raises(LedgerError, match=r"ledger\.jsonl:2: not a judgement"):
        list(run.stored(run.manifest()))


def test_a_folder_in_place_of_the_ledger_is_an_error_and_no_bug(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    run.ledger_path.unlink()
    run.ledger_path.mkdir()
    with pytest.raises(LedgerError, match=r"ledger\.jsonl"):
        list(run.rows(run.manifest()))
