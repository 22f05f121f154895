"""A share of the judgements made once more."""

from pathlib import Path

import pytest

from judges import Case, Run, Verdict
from judges.engine.evaluate import judge_run
from judges.engine.plan import assign, plan
from judges.engine.run import Manifest
from judges.planning import Known, forecast
from judges.repeats import summarise_repeats
from judges.summary import summarise_run
from support.builders import ANSWERED, FunctionJudge, make_case, make_cases


class Wavering(FunctionJudge):
    """Says the opposite of every third case when it is asked once more."""

    async def judge(self, case: Case, criterion: object, *, replicate: int = 0) -> Verdict:
        return Verdict(float(replicate and int(case.id[1:]) % 3 == 0))


JUDGE = Wavering(lambda _: None)
ASSIGNMENTS = assign([ANSWERED], [JUDGE])


def run_of(folder: Path, cases: list[Case], share: float) -> tuple[Run, Manifest]:
    import asyncio

    home = Run(folder)
    with home.locked():
        manifest = home.begin(cases, lambda count: Manifest("(Python)", ASSIGNMENTS, cases=count, repeat_share=share))
        counts = asyncio.run(judge_run(home, manifest, {JUDGE.name: JUDGE}))
    assert counts.done == counts.total
    return home, manifest


def test_the_content_chooses_and_the_share_is_kept_on_average() -> None:
    works = list(plan(make_cases(4000), ASSIGNMENTS, repeat_share=0.02))
    again = [work for work in works if work.replicate == 1]
    assert len(works) == 4000 + len(again)
    assert 50 <= len(again) <= 115
    assert {work.key for work in again} == {
        work.key for work in plan(reversed(make_cases(4000)), ASSIGNMENTS, repeat_share=0.02) if work.replicate == 1
    }
    more = {work.key for work in plan(make_cases(4000), ASSIGNMENTS, repeat_share=0.1) if work.replicate == 1}
    assert more > {work.key for work in again}


@pytest.mark.parametrize(("share", "count"), [(0.0, 0), (1.0, 30)])
def test_none_and_all_can_be_asked_for(share: float, count: int) -> None:
    works = list(plan(make_cases(30), ASSIGNMENTS, replicates=2, repeat_share=share))
    assert sum(work.replicate == 2 for work in works) == count
    assert len(works) == 60 + count


def test_repeats_count_in_the_flip_rate_and_in_nothing_else(tmp_path: Path) -> None:
    cases = make_cases(30)
    home, manifest = run_of(tmp_path / "run", cases, 1.0)
    [row] = summarise_run(home, manifest)
    assert (row.asked, row.judged, row.mean.value) == (30, 30, 0)
    assert len(home.stored(manifest)) == 30
    [repeat] = summarise_repeats(home, manifest, {})
    assert (repeat.flipped, repeat.rate.n) == (10, 30)
    assert str(repeat).startswith("asked once more, the verdict changed on 10 of 30: 0.33 [")
    assert [each.flipped for each in summarise_repeats(home, manifest, {("answered", "function"): 0.0})] == [0]


def test_cases_of_the_same_content_are_one(tmp_path: Path) -> None:
    cases = [make_case(0), *(Case(f"c{number}", answer="the same") for number in (3, 6, 9))]
    home, manifest = run_of(tmp_path / "run", cases, 1.0)
    [repeat] = summarise_repeats(home, manifest, {})
    assert repeat.rate.n == 2


def test_a_run_without_repeats_has_none_and_older_runs_are_read(tmp_path: Path) -> None:
    home, manifest = run_of(tmp_path / "run", make_cases(3), 0.0)
    assert list(home.repeats(manifest)) == []
    record = manifest.to_record()
    del record["repeat_share"]
    assert Manifest.from_record(record) == manifest


def test_what_is_not_judged_yet_is_counted_apart(tmp_path: Path) -> None:
    home, manifest = run_of(tmp_path / "run", make_cases(30), 1.0)
    lines = home.ledger_path.read_bytes().splitlines(keepends=True)
    home.ledger_path.write_bytes(b"".join(lines[:40]))
    [repeat] = summarise_repeats(home, manifest, {})
    assert (repeat.rate.n, repeat.rate.n_dropped) == (40 - 30 + repeat.rate.n - 10, 30 - repeat.rate.n)
    assert repeat.rate.n < 30


def test_a_forecast_knows_of_them() -> None:
    known = Known(is_cached=lambda _judge, _request: False, price=lambda _judge, _usage: 0.0)
    judges = {JUDGE.name: JUDGE}
    [one] = forecast(make_cases(20), ASSIGNMENTS, judges, known, repeat_share=1.0)
    assert one.judgements == 40
