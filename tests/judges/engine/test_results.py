import json
from pathlib import Path

from judges import Abstained, Case, Verdict, evaluate_sync
from support.builders import ANSWERED, CountingJudge, FunctionJudge, make_cases


def test_records_are_json_and_tell_what_became_of_each_case() -> None:
    def function(case: Case) -> object:
        return {"c0": Verdict(0.5, "so so"), "c1": Abstained("no_answer", "it is empty")}.get(case.id)

    records = evaluate_sync(make_cases(3), ANSWERED, FunctionJudge(function)).to_records()
    assert json.loads(json.dumps(records, allow_nan=False)) == records
    assert records[0]["verdict"] == {"score": 0.5, "rationale": "so so"}
    assert records[1]["score"] is None
    assert records[1]["abstained"] == {"reason": "no_answer", "detail": "it is empty"}
    assert records[2]["failed"]["error"] == "InvalidVerdict"


def test_the_table_of_a_notebook_escapes_hostile_text() -> None:
    hostile = '<script>alert("1")</script>'
    results = evaluate_sync([Case(hostile, answer="x")], ANSWERED, FunctionJudge(lambda _: Verdict(0.5, hostile)))
    html = results._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 2


def test_the_table_of_a_notebook_stays_short_and_says_how_much_more_there_is() -> None:
    results = evaluate_sync(make_cases(1030), ANSWERED, CountingJudge())
    html = results._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert html.count("<tr>") == 21
    assert "and 1,010 more" in html


def test_results_of_a_run_are_the_same_as_in_memory(tmp_path: Path) -> None:
    memory = evaluate_sync(make_cases(30), ANSWERED, CountingJudge())
    stored = evaluate_sync(make_cases(30), ANSWERED, CountingJudge(), out=tmp_path / "run")
    assert stored.to_records() == memory.to_records()
    assert stored[3:5].to_records() == memory[3:5].to_records()
    assert stored[-1].case_id == "c29"
    assert len(stored) == 30
