import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from calibration.statistics.scores import pair_scores, spearman
from judges import Case, Context, Verdict
from judges.diagnosis.diagnose import diagnose_run
from judges.engine.run import Run
from judges.errors import InputError, LedgerError
from judges.experiment.dataset import read_dataset, right_passages
from judges.experiment.figures import correlation
from judges.experiment.history import Entry, History
from judges.experiment.outputs import Output, Outputs, admitted, read_outputs
from judges.experiment.plan import read_plan
from judges.experiment.trial import changes, evaluate_pipeline
from judges.figures import Figure
from judges.fingerprint import Json
from support.builders import ANSWERED, CountingJudge, FunctionJudge

PAGES = {"a": "The office opens at nine.", "b": "The office closes at five.", "c": "There is no parking."}
HALVES = FunctionJudge(lambda _: Verdict(0.5))


def questions(count: int = 6) -> list[Case]:
    """Questions of which each second can't be answered."""
    return [
        Case(
            f"q{number}",
            f"question {number}",
            references=(f"the secret of {number}",),
            extra={"relevant": ["b"] if number % 2 else [], "gold": "secret", "topic": "hours"},
        )
        for number in range(count)
    ]


def all_pages(case: Case) -> tuple[list[Context], str]:
    return [Context(text, name) for name, text in PAGES.items()], f"About {case.question}."


# What a pipeline is given and may return


def test_a_pipeline_sees_the_question_and_nothing_that_tells_the_answer() -> None:
    seen: list[Case] = []

    def pipeline(case: Case) -> tuple[list[str], str]:
        seen.append(case)
        return [], "x"

    evaluate_pipeline(pipeline, questions(1), criteria=ANSWERED, judges=HALVES)
    assert seen == [Case("q0", "question 0", extra={"topic": "hours"})]


@pytest.mark.parametrize("name", ["question", "query"])
def test_a_function_of_a_question_is_given_its_text(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def pipeline({name}): return ['p'], {name}.upper()", scope)  # noqa: S102
    result = evaluate_pipeline(scope["pipeline"], questions(2), criteria=ANSWERED, judges=HALVES)
    assert result.failures == ()
    assert result.figures["length"].value == len("QUESTION 0")


def test_an_async_function_is_asked_several_questions_at_a_time() -> None:
    under_way = most = 0

    async def pipeline(case: Case) -> Mapping[str, object]:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return {"answer": case.question}

    evaluate_pipeline(pipeline, questions(8), criteria=ANSWERED, judges=HALVES, workers=4)
    assert most == 4


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        (None, "returned nothing; give passages and answer"),
        ("an answer", "returned a str; give passages and answer"),
        (("one", "two", "three"), "returned a tuple"),
        (5, "returned an int; give passages and answer"),
        ({"text": "x"}, "without `contexts`, `retrieved` and `answer`"),
        (("a passage", "x"), "`contexts` is a str; give a list of passages"),
        (([{"id": "a"}], "x"), "`contexts.0.text` is missing"),
        (([3.5e300], "x"), "`contexts.0` is a number"),
        ((["p"], ["x"]), "`answer` is a list, not text"),
        ((["p"], object()), "returned something that JSON has no form for"),
        ((["p"], "half \ud800 of a pair"), "returned something that JSON has no form for"),
        (([Context("x", "a"), Context("y", "a")], "x"), 'document "a" is retrieved twice'),
        ({"answer": "x", "cost": -1}, "`cost` is -1; give a number from 0"),
        ({"answer": "x", "cost": float("nan")}, None),
        ({"answer": "x", "retrieved": 7}, "`retrieved` is no list of ids"),
        (
            {"answer": "x", "contexts": [{"text": "p", "score": "high"}]},
            '`contexts.0.score` is text ("high"), not a number',
        ),
    ],
)
def test_what_isn_t_an_output_is_told_in_one_line(said: object, complaint: str | None) -> None:
    if complaint is None:
        assert admitted("q", said).cost is None
        return
    with pytest.raises(InputError) as caught:
        admitted("q", said)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_output_can_t_change_the_question_or_what_is_relevant(tmp_path: Path) -> None:
    def pipeline(case: Case) -> Mapping[str, object]:
        return {
            "id": "other",
            "question": "an easier one",
            "references": ["mine"],
            "relevant": ["c"],
            "topic": "mine",
            "trace": [1, 2],
            "contexts": [Context(PAGES["c"], "c")],
            "answer": "x",
        }

    evaluate_pipeline(pipeline, questions(2), criteria=ANSWERED, judges=HALVES, out=tmp_path)
    case = list(Run(tmp_path / "pipeline").cases())[1]
    assert (case.id, case.question, case.references) == ("q1", "question 1", ("the secret of 1",))
    assert (case.extra["relevant"], case.extra["topic"], case.extra["trace"]) == (["b"], "hours", [1, 2])
    assert case.extra["retrieved"] == [{"id": "c"}]


def test_the_order_returned_is_the_ranking_whatever_the_scores_say() -> None:
    reranked = admitted("q", ([Context("x", "a", score=0.1), Context("y", "b", score=0.9)], "x"))
    assert reranked.answered is not None
    assert reranked.answered.extra["retrieved"] == [{"id": "a"}, {"id": "b"}]
    in_order = admitted("q", ([Context("x", "a", score=0.9), Context("y", "b", score=0.1)], "x"))
    assert in_order.answered is not None
    assert in_order.answered.extra["retrieved"] == [{"id": "a", "score": 0.9}, {"id": "b", "score": 0.1}]


def test_passages_without_ids_leave_retrieval_unmeasured_and_say_so() -> None:
    def pipeline(case: Case) -> tuple[list[str], str]:
        return ["p"], "x"

    result = evaluate_pipeline(pipeline, questions(), criteria=ANSWERED, judges=HALVES)
    assert result.figures["recall@1"].value is None
    [note] = result.found.notes
    assert note.startswith("no case has both `retrieved` (or `contexts`, each with an id) and `relevant`")


# Failing calls


class _Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("two\nlines \x1b[31m"), "ValueError: two lines \\x1b[31m"),
        (KeyError(), "KeyError"),
        (SystemExit(3), "SystemExit: 3"),
        (asyncio.CancelledError(), "CancelledError"),
        (_Unprintable(), "_Unprintable: it has no message"),
        (InputError("no such index"), "no such index"),
    ],
)
def test_a_call_that_fails_costs_its_case_only(error: BaseException, told: str) -> None:
    def pipeline(case: Case) -> tuple[list[Context], str]:
        if case.id == "q2":
            raise error
        return all_pages(case)

    result = evaluate_pipeline(pipeline, questions(), criteria=ANSWERED, judges=HALVES)
    assert [(each.case, each.error) for each in result.failures] == [("q2", told)]
    assert result.figures["answered"].n == 5
    assert result.figures["answered_unanswerable"].n == 2


def test_ctrl_c_in_a_pipeline_ends_it_all() -> None:
    def pipeline(case: Case) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate_pipeline(pipeline, questions(), criteria=ANSWERED, judges=HALVES)


def test_what_was_answered_isn_t_asked_again_and_what_failed_is(tmp_path: Path) -> None:
    asked: list[str] = []
    broken = True

    def pipeline(case: Case) -> tuple[list[Context], str]:
        asked.append(case.id)
        if broken and case.id == "q2":
            raise RuntimeError("down")
        return all_pages(case)

    judge = CountingJudge()
    first = evaluate_pipeline(pipeline, questions(), criteria=ANSWERED, judges=judge, out=tmp_path)
    assert (len(asked), len(judge.asked), first.calls.resumed) == (6, 5, 0)
    broken = False
    second = evaluate_pipeline(pipeline, questions(), criteria=ANSWERED, judges=judge, out=tmp_path)
    assert (asked[6:], judge.asked[5:], second.calls.resumed) == (["q2"], ["q2"], 5)
    assert second.failures == ()
    third = evaluate_pipeline(
        pipeline, questions(), criteria=ANSWERED, judges=judge, out=tmp_path, versions={"prompt": "v2"}
    )
    assert (len(asked), third.calls.resumed) == (13, 0)


def test_a_torn_last_output_is_cut_off_and_a_damaged_one_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.outputs.jsonl"
    with Outputs(path) as outputs:
        outputs.add("k1", Output(Case("q", answer="x"), 0.5))
        outputs.add("k2", Output(None, error="down"))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"key": "k3", "answ')
    with Outputs(path) as outputs:
        assert [outputs.has(key) for key in ("k1", "k2", "k3")] == [True, False, False]
        assert outputs.get("k2") == Output(None, error="down")
    assert path.read_bytes() == whole
    path.write_bytes(whole + b"[]\n")
    with pytest.raises(LedgerError, match=r"x\.outputs\.jsonl:3: no output; delete this line"):
        Outputs(path)


# Figures


def test_retrieval_and_generation_are_measured_apart() -> None:
    result = evaluate_pipeline(all_pages, questions(), (1, 2), criteria=ANSWERED, judges=HALVES)
    values = {name: figure.value for name, figure in result.figures.items()}
    assert values["recall@1"] == 0.0
    assert values["recall@2"] == 1.0
    assert values["P@2"] == 0.5
    assert values["RR"] == 0.5
    assert result.figures["RR"].n == result.figures["RR"].n_dropped == 3
    assert values["answered"] == 0.5
    assert values["answered_unanswerable"] == 3
    assert values["length"] == len("About question 0.")
    assert values["cost"] is None
    assert result.found.curve == (0.0, 1.0)


def test_the_curve_goes_no_deeper_than_what_was_retrieved() -> None:
    result = evaluate_pipeline(all_pages, questions(), (1, 10), criteria=ANSWERED, judges=HALVES)
    assert result.found.curve == (0.0, 1.0, 1.0)
    assert result.found.deepest == 3


def test_where_nothing_was_answered_the_figures_are_undefined_and_the_reason_is_told() -> None:
    def pipeline(_: Case) -> int:
        return 5

    result = evaluate_pipeline(pipeline, questions(2), criteria=ANSWERED, judges=HALVES)
    assert len(result.failures) == 2
    assert "returned an int" in result.failures[0].error
    assert (result.figures["answered"].value, result.figures["answered"].reason) == (None, "no_data")


def test_repeats_of_a_case_are_one_case_to_every_interval(tmp_path: Path) -> None:
    def pipeline(case: Case) -> Mapping[str, object]:
        right = int(case.id[1:]) % 4 == 1
        return {"contexts": [Context("x", "b" if right else "a")], "answer": "x" * int(case.id[1:]), "cost": 0.01}

    def tried(repeats: int, name: str) -> Mapping[str, Figure]:
        return evaluate_pipeline(
            pipeline, questions(40), (1,), criteria=ANSWERED, judges=CountingJudge(), repeats=repeats, name=name,
            out=tmp_path,
        ).figures  # fmt: skip

    once, thrice = tried(1, "once"), tried(3, "thrice")
    for name in ("recall@1", "RR", "answered", "length"):
        assert thrice[name].value == pytest.approx(once[name].value), name
        assert thrice[name].ci_low == pytest.approx(once[name].ci_low, abs=1e-9), name
        assert thrice[name].n == 3 * once[name].n, name
        assert thrice[name].n_clusters == once[name].n_clusters == once[name].n, name
    assert once["cost"].value == pytest.approx(0.4)
    assert thrice["cost"].value == pytest.approx(1.2)
    ids = [case.id for case in Run(tmp_path / "thrice").cases()]
    assert ids[:4] == ["q0", "q0#2", "q0#3", "q1"]


def test_asked_more_often_only_the_new_calls_are_made(tmp_path: Path) -> None:
    asked: list[str] = []

    def pipeline(case: Case) -> tuple[list[Context], str]:
        asked.append(case.id)
        return all_pages(case)

    for repeats in (1, 2):
        evaluate_pipeline(pipeline, questions(3), criteria=ANSWERED, judges=HALVES, repeats=repeats, out=tmp_path)
    assert asked == ["q0", "q1", "q2"] * 2


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=40))
def test_the_correlation_is_spearman_s_with_the_interval_of_calibration(pairs: list[tuple[int, int]]) -> None:
    first = {str(at): float(a) for at, (a, _) in enumerate(pairs)}
    second = {str(at): float(b) for at, (_, b) in enumerate(pairs)}
    found = correlation(first, second, {name: name for name in first})
    if len({a for a, _ in pairs}) == 1 or len({b for _, b in pairs}) == 1:
        assert found.reason == "constant_input"
        return
    assert found.value == pytest.approx(spearmanr(list(first.values()), list(second.values())).statistic)
    theirs = spearman(pair_scores(list(first.values()), list(second.values())))
    assert (found.reason, found.n) == (theirs.reason, theirs.n)
    assert [found.ci_low, found.ci_high] == pytest.approx([theirs.ci_low, theirs.ci_high])


def test_the_correlation_of_a_case_asked_several_times_is_of_its_means() -> None:
    first = {"a": 1.0, "a#2": 3.0, "b": 5.0, "c": 9.0, "lost": 1.0}
    second = {"a": 0.2, "a#2": 0.4, "b": 0.1, "c": 0.9}
    clusters = {"a": "a", "a#2": "a", "b": "b", "c": "c", "lost": "lost"}
    found = correlation(first, second, clusters)
    assert found.value == pytest.approx(0.5)
    assert (found.n, found.n_dropped) == (3, 1)


# Right passages


def test_with_the_right_passages_given_the_generation_is_judged_alone() -> None:
    given: list[tuple[Context, ...]] = []

    def pipeline(case: Case, passages: Sequence[Context] | None = None) -> tuple[Sequence[Context], str]:
        assert passages is not None
        given.append(tuple(passages))
        return passages, " ".join(each.text for each in passages) or "I don't know."

    result = evaluate_pipeline(
        pipeline, questions(2), criteria=ANSWERED, judges=HALVES, gold_passages=True, passages=PAGES
    )
    assert given == [(), (Context("The office closes at five.", "b", 1),)]
    assert result.figures["recall@1"].value is None
    assert result.found.notes == ("the right passages were given, so there is no retrieval to measure",)
    assert result.figures["answered_unanswerable"].value == 0


def test_a_run_with_the_right_passages_given_is_diagnosed_where_spans_are_labelled(tmp_path: Path) -> None:
    relevant: list[Json] = [{"doc": "b", "start": 4, "end": 10}]

    def pipeline(case: Case, passages: Sequence[Context] = ()) -> tuple[Sequence[Context], str]:
        return passages, "I don't know."

    case = Case("q1", "When does it close?", extra={"relevant": relevant})
    evaluate_pipeline(
        pipeline, [case], criteria=ANSWERED, judges=HALVES, gold_passages=True, passages=PAGES, name="given",
        out=tmp_path,
    )  # fmt: skip
    found = diagnose_run(Run(tmp_path / "given"))
    assert [each.name for each in found.causes] == ["refused_answerable"]
    assert found.cases[0].evidence[1].why == "what is needed was read: b:4-10 at 1 of 1"


def test_right_passages_are_cut_from_their_documents_the_highest_grade_first() -> None:
    relevant: list[Json] = [{"id": "a"}, {"doc": "b", "start": 4, "end": 10, "grade": 2}, {"id": "c", "grade": 0}]
    found = right_passages(Case("q", extra={"relevant": relevant}), PAGES)
    assert found == (Context("office", "b:4-10", 1), Context(PAGES["a"], "a", 2))


@pytest.mark.parametrize(
    ("extra", "complaint"),
    [
        ({}, "case `q`: says nothing of what is `relevant`"),
        ({"relevant": ["z"]}, 'case `q`: the text of "z", which is relevant, isn\'t known'),
    ],
)
def test_right_passages_that_aren_t_known_are_told(extra: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        right_passages(Case("q", extra=extra), PAGES)


def test_a_function_that_takes_no_passages_can_t_be_given_the_right_ones() -> None:
    with pytest.raises(InputError, match=r"can't be called .*`passages`, the right ones"):
        evaluate_pipeline(all_pages, questions(), gold_passages=True, passages=PAGES)


# The dataset and stored outputs


def test_relevance_comes_from_trec_s_qrels_or_from_records_and_a_case_without_a_line_has_nothing(
    tmp_path: Path,
) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"id": "q0", "question": "x"}\n{"id": "q1", "question": "y", "relevant": ["old"]}\n')
    (tmp_path / "qrels.txt").write_text("q0 0 a 2\n")
    (tmp_path / "spans.jsonl").write_text('{"query": "q0", "doc": "a", "start": 0, "end": 3, "grade": 1}\n')
    of_trec = read_dataset(cases, qrels=tmp_path / "qrels.txt").cases
    assert [case.extra["relevant"] for case in of_trec] == [[{"id": "a", "grade": 2}], []]
    of_records = read_dataset(cases, qrels=tmp_path / "spans.jsonl").cases
    assert of_records[0].extra["relevant"] == [{"doc": "a", "start": 0, "end": 3, "grade": 1}]
    (tmp_path / "qrels.txt").write_text("other 0 a 2\n")
    with pytest.raises(InputError, match="has no case of"):
        read_dataset(cases, qrels=tmp_path / "qrels.txt")


def test_a_stored_output_that_is_none_is_a_failure_of_its_case(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_text('{"id": "q0", "answer": "x", "contexts": ["p"], "seconds": 2, "cost": 0.5}\n{"id": "q1"}\n')
    found = read_outputs(path)
    assert (found["q0"].seconds, found["q0"].cost, found["q0"].error) == (2.0, 0.5, None)
    assert "outputs.jsonl:2: returned a mapping without" in str(found["q1"].error)
    path.write_text('{"id": "q0", "answer": "x"}\n' * 2)
    with pytest.raises(InputError, match='`id` "q0" is there a second time'):
        read_outputs(path)


# The plan

PLAN = 'dataset = "cases.jsonl"\n[variants.one]\npipeline = "m:f"\n'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("dataset = 'x'", "`variants`: is missing"),
        ("dataset = 'x'\n[variants]", "`variants`: is empty; give one at least"),
        (PLAN + "ks = [1]", "`variants.one.ks`: a plan has no such field"),
        ("ks = [0]\n" + PLAN, "`ks.0`: input should be greater than or equal to 1"),
        ("repeats = 0\n" + PLAN, "`repeats`: input should be"),
        (PLAN + 'outputs = "x"', "`variants.one`: give it a `pipeline`, or a file of `outputs`"),
        ('dataset = "x"\n[variants.one]\noutputs = "x"\nworkers = 2', "stored outputs take no `arguments`"),
        (PLAN.replace("one", '"../x"'), "`variants.../x`: that can't be a folder's name"),
        (PLAN + "arguments = { k = 1 }\nversions = { k = 1 }", "`k` is an argument and so a version already"),
        ("dataset = ", "no TOML"),
    ],
)
def test_a_plan_that_can_t_be_followed_is_told(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_plan(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert complaint in str(caught.value)


def test_a_date_among_versions_is_its_text(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN + "arguments = { since = 2026-01-02 }\nversions = { k = 4 }")
    variant = read_plan(path).variants["one"]
    assert variant.settings == {"since": "2026-01-02", "k": 4}
    assert variant.arguments["since"] == date(2026, 1, 2)


def test_what_changed_between_two_variants_is_named() -> None:
    change = changes("a", {"k": 3, "prompt": "v1", "gone": 1}, "b", {"k": 3, "prompt": "v2", "new": None})
    assert change.names == ("prompt", "gone")
    assert changes("a", {"k": 3}, "b", {"k": 3}).names == ()


# The history


def entry(value: float | None, **settings: int) -> Entry:
    return Entry("one", "cases #1", settings, ("x by y",), 2, 1, 0, {"recall@1": Figure(value, 0.1, 0.9)})


def test_the_history_only_grows_and_says_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "experiments.csv"
    assert History(path, ["recall@1"]).add(entry(0.5, k=1), "monday")
    assert not History(path, ["recall@1"]).add(entry(0.5, k=1), "tuesday")
    before = path.read_bytes()
    history = History(path, ["recall@1"])
    assert history.add(entry(None, k=2), "wednesday")
    assert path.read_bytes().startswith(before)
    assert path.read_text().splitlines() == [
        "when,variant,dataset,settings,judges,cases,repeats,failed,recall@1,recall@1 low,recall@1 high",
        'monday,one,cases #1,"{""k"":1}",x by y,2,1,0,0.5,0.1,0.9',
        'wednesday,one,cases #1,"{""k"":2}",x by y,2,1,0,,0.1,0.9',
    ]
    assert history.last("one") == History(path, ["recall@1"]).last("one") == entry(0, k=2).made_with()
    assert history.last("two") is None


def test_a_torn_last_row_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "experiments.csv"
    History(path, ["recall@1"]).add(entry(0.5), "monday")
    with path.open("a") as file:
        file.write("tuesday,one,ca")
    assert History(path, ["recall@1"]).add(entry(0.6), "wednesday")
    assert [line.partition(",")[0] for line in path.read_text().splitlines()[1:]] == ["monday", "tuesday", "wednesday"]


def test_a_history_of_other_figures_is_refused_with_the_difference(tmp_path: Path) -> None:
    path = tmp_path / "experiments.csv"
    History(path, ["recall@1", "RR"]).add(
        Entry("one", "c", {}, (), 1, 1, 0, {"recall@1": Figure(0.5), "RR": Figure(0.5)}), "monday"
    )
    with pytest.raises(InputError, match=r"it has RR and it lacks recall@5; its rows are never rewritten"):
        History(path, ["recall@1", "recall@5"])


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_the_spans_of_the_example_are_stretches_of_its_pages_and_agree_with_its_qrels() -> None:
    folder = Path(__file__).parents[2] / "judges" / "example"
    pages = {row["id"]: row["text"] for row in read(folder / "rag" / "pages.jsonl")}
    spans = read(folder / "rag" / "spans.jsonl")
    assert all(pages[span["doc"]][span["start"] : span["end"]] == span["text"] for span in spans)
    qrels = [line.split() for line in (folder / "qrels.txt").read_text("utf-8").splitlines()]
    assert {(span["query"], span["doc"]) for span in spans if span["grade"] == 2} == {
        (query, page) for query, _, page, grade in qrels if grade == "2"
    }
    cases = read(folder / "cases.jsonl")
    assert pages == {page["id"]: page["text"] for case in cases for page in case["contexts"]}
