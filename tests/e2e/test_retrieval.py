import csv
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from support.command import judges

QRELS = "q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 1\nq3 0 a 0\n"
RANKING = "q1 Q0 b 1 3 s\nq1 Q0 a 2 2 s\nq1 Q0 x 3 1 s\nq3 Q0 a 1 1 s\nq9 Q0 a 1 1 s\n"
CASES: list[dict[str, Any]] = [
    {"id": "q1", "kind": "easy", "retrieved": ["b", "a", "x"], "relevant": {"a": 2, "b": 0, "c": 1}},
    {"id": "q2", "kind": "hard", "retrieved": [], "relevant": ["a"]},
    {"id": "q3", "kind": "hard", "retrieved": [{"id": "a", "score": 1}], "relevant": {"a": 0}},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels.txt").write_text(QRELS, encoding="utf-8")
    (tmp_path / "ranking.txt").write_text(RANKING, encoding="utf-8")
    write_cases(tmp_path, CASES)
    return tmp_path


def write_cases(folder: Path, cases: list[dict[str, Any]]) -> None:
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")


def measured(folder: Path, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(judges("retrieval", *arguments, "--json", folder=folder).stdout)
    return found


FILES = ("--qrels", "qrels.txt", "--ranking", "ranking.txt")


def test_a_table_has_each_metric_with_its_mean_interval_and_ceiling(folder: Path) -> None:
    done = judges("retrieval", *FILES, "--k", "1,2", folder=folder)
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines()[1:-1]}
    assert list(rows) == [
        "P@1", "P@2", "P", "recall@1", "recall@2", "hit@1", "hit@2", "nDCG@1", "nDCG@2", "judged@1", "judged@2",
        "RR", "AP", "Rprec",
    ]  # fmt: skip
    assert rows["P@2"][1] == "0.250"
    assert rows["P@2"][-3:] == ["0.750", "2", "1"]
    assert rows["judged@1"][-3:] == ["1.000", "3", "0"]
    assert "1 without a relevant document: left out" in done.stderr
    assert "1 without results: counted as 0" in done.stderr
    assert "1 of the ranking not in the qrels: left out" in done.stderr


def test_json_has_the_figures_and_on_request_each_query(folder: Path) -> None:
    found = measured(folder, *FILES, "-m", "RR", "-m", "rr", "-m", "nDCG@2", "--per-query")
    assert [found[name] for name in ("queries", "without_relevant", "without_results", "without_qrels")] == [3, 1, 1, 1]
    reciprocal, _ = found["rows"]
    assert reciprocal["metric"] == "RR"
    assert reciprocal["undefined"] == reciprocal["mean"]["n_dropped"] == 1
    assert (reciprocal["mean"]["value"], reciprocal["mean"]["n"], reciprocal["mean"]["method"]) == (0.25, 2, "t")
    values = {each["query"]: each["values"]["RR"] for each in found["per_query"]}
    assert values == {"q1": 0.5, "q2": 0.0, "q3": None}


def test_files_of_records_and_cases_give_what_trecs_formats_give(folder: Path) -> None:
    lines = [line.split() for line in QRELS.splitlines()]
    (folder / "qrels.csv").write_text(
        "query,document,grade\n" + "".join(f"{query},{name},{grade}\n" for query, _, name, grade in lines),
        encoding="utf-8",
    )
    places = [line.split() for line in RANKING.splitlines()]
    (folder / "ranking.jsonl").write_text(
        "".join(
            json.dumps({"query": place[0], "document": place[2], "score": float(place[4])}) + "\n" for place in places
        ),
        encoding="utf-8",
    )
    arrow: Any = importlib.import_module("pyarrow")
    parquet: Any = importlib.import_module("pyarrow.parquet")
    for name, rows in {
        "qrels": [{"query-id": query, "corpus-id": name, "score": int(grade)} for query, _, name, grade in lines],
        "ranking": [{"query": place[0], "document": place[2], "score": float(place[4])} for place in places],
    }.items():
        parquet.write_table(arrow.Table.from_pylist(rows), folder / f"{name}.parquet")
    wanted = measured(folder, *FILES)
    assert measured(folder, "--qrels", "qrels.csv", "--ranking", "ranking.jsonl") == wanted
    assert measured(folder, "--qrels", "qrels.parquet", "--ranking", "ranking.parquet") == wanted
    assert measured(folder, "--cases", "cases.jsonl")["rows"] == wanted["rows"]


def test_passages_of_a_case_are_what_was_retrieved_where_nothing_else_says_it(folder: Path) -> None:
    wanted = measured(folder, "--cases", "cases.jsonl")
    write_cases(
        folder,
        [
            {
                "id": "q1",
                "contexts": [{"doc_id": "x", "text": "X", "rank": 3}, {"id": "b", "text": "B", "rank": 1, "score": 0.1},
                             {"id": "a", "text": "A", "rank": 2, "score": 0.9}],
                "relevant": CASES[0]["relevant"],
            },
            {"id": "q2", "contexts": [], "relevant": ["a"]},
            {"id": "q3", "contexts": [{"id": "a", "text": "A"}], "relevant": {"a": 0}},
        ],
    )  # fmt: skip
    assert measured(folder, "--cases", "cases.jsonl") == wanted


def test_texts_of_passages_count_only_where_labels_have_texts(folder: Path) -> None:
    """Ids that mean another passage in each case are no fault, as long as nobody asks what the passages say."""
    cases = [
        {"id": name, "contexts": [{"id": "1", "text": f"of {name}"}], "relevant": ["1", "2"]} for name in ("q1", "q2")
    ]
    write_cases(folder, cases)
    assert measured(folder, "--cases", "cases.jsonl", "-m", "recall")["rows"][0]["mean"]["value"] == 0.5
    write_cases(folder, [{**cases[0], "relevant": [{"id": "1", "text": "as it was"}, "2"]}])
    assert measured(folder, "--cases", "cases.jsonl")["stale_labels"] == [{"query": "q1", "document": "1"}]


def test_qrels_may_say_what_is_relevant_to_the_cases_of_a_dataset(folder: Path) -> None:
    bare = [{name: value for name, value in case.items() if name != "relevant"} for case in CASES]
    write_cases(folder, [*bare, {"id": "q9", "retrieved": ["a"]}])
    found = measured(folder, "--qrels", "qrels.txt", "--cases", "cases.jsonl")
    assert found == measured(folder, *FILES)
    write_cases(folder, bare[:1])
    found = measured(folder, "--qrels", "qrels.txt", "--cases", "cases.jsonl", "--by", "kind", "-m", "RR")
    assert [(row["slice"], row["mean"]["value"]) for row in found["rows"]] == [("easy", 0.5)]
    assert (found["queries"], found["without_case"]) == (1, 2)
    done = judges("retrieval", "--qrels", "qrels.txt", "--cases", "cases.jsonl", folder=folder)
    assert "2 of the qrels not among the cases: left out" in done.stderr


def test_a_table_of_cases_holds_lists_as_json(folder: Path) -> None:
    wanted = measured(folder, "--cases", "cases.jsonl")
    with (folder / "cases.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "kind", "retrieved", "relevant"])
        for case in CASES:
            writer.writerow([case["id"], case["kind"], json.dumps(case["retrieved"]), json.dumps(case["relevant"])])
    assert measured(folder, "--cases", "cases.csv") == wanted
    (folder / "cases.csv").write_text("id,retrieved,relevant\nq,a b,[\n", encoding="utf-8")
    done = judges("retrieval", "--cases", "cases.csv", folder=folder, code=2)
    assert "cases.csv:2: `retrieved` is no list of ids" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("retrieval", "-m", "RR", "-m", "nDCG@2", "--by", "kind", "--json", "--cases"),
        ("threshold", "--json"),
        ("run", "--json", "-q", "-c", "answer_relevance", "-j", "overlap", "--out"),
    ],
    ids=lambda command: command[0],
)
def test_cases_in_parquet_give_what_those_in_json_lines_give(tmp_path: Path, command: tuple[str, ...]) -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = importlib.import_module("pyarrow.parquet")
    cases = [
        {
            "id": f"q{place}",
            "kind": "easy" if place % 2 else "hard",
            "question": f"What is {place}?",
            "answer": f"It is {place}.",
            "retrieved": [{"id": "a", "score": 0.9 - place / 30}, {"id": "b", "score": 0.1}],
            "relevant": ["a" if place % 3 else "b"] if place < 8 else [],
        }
        for place in range(12)
    ]
    write_cases(tmp_path, cases)
    parquet.write_table(arrow.Table.from_pylist(cases), tmp_path / "cases.parquet")
    given = ("out",) if command[0] == "run" else ()
    one, other = (
        judges(*command, *given, f"cases.{kind}", folder=tmp_path).stdout.replace(kind, "")
        for kind in ("jsonl", "parquet")
    )
    assert one == other != ""


def test_precision_over_what_was_retrieved_stands_beside_that_by_k(folder: Path) -> None:
    write_cases(folder, [{"id": "q", "retrieved": ["x", "a"], "relevant": ["a"]}])
    rows = {row["metric"]: row for row in measured(folder, "--cases", "cases.jsonl", "-k", "4")["rows"]}
    assert (rows["P@4"]["mean"]["value"], rows["P@4"]["ceiling"]) == (0.25, 0.25)
    assert rows["P"]["mean"]["value"] == 0.5


def test_slices_come_from_a_field_of_the_cases(folder: Path) -> None:
    found = measured(folder, "--cases", "cases.jsonl", "--by", "kind", "-m", "hit@2")
    assert [(row["slice"], row["mean"]["value"], row["undefined"]) for row in found["rows"]] == [
        ("easy", 1.0, 0),
        ("hard", 0.0, 1),
    ]
    assert "easy" in judges("retrieval", "--cases", "cases.jsonl", "--by", "kind", folder=folder).stdout


def test_strict_gives_trec_evals_0_where_no_document_is_relevant(folder: Path) -> None:
    row = measured(folder, *FILES, "-m", "hit@2", "--strict")["rows"][0]
    assert (row["mean"]["n"], row["undefined"]) == (3, 0)
    assert row["ceiling"] == pytest.approx(2 / 3)


def test_a_mean_without_a_query_has_its_reason(folder: Path) -> None:
    (folder / "qrels.txt").write_text("q3 0 a 0\n", encoding="utf-8")
    row = measured(folder, *FILES, "-m", "AP")["rows"][0]
    assert (row["mean"]["value"], row["mean"]["reason"], row["ceiling"]) == (None, "no_relevant", None)
    assert "no_relevant" in judges("retrieval", *FILES, folder=folder).stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "give --qrels and --ranking, or --cases"),
        ((*FILES, "--by", "kind"), "--by needs the fields of cases"),
        ((*FILES, "--cases", "cases.jsonl"), "--cases holds what was retrieved: leave out --ranking, or --cases"),
        (("--qrels", "other.txt", "--cases", "cases.jsonl"), "cases.jsonl: has no case of other.txt"),
        (("--qrels", "-", "--cases", "-"), "--qrels - and --cases -: standard input can't be both"),
        (("--cases", "lost.jsonl"), "lost.jsonl:1: has neither `retrieved` nor `contexts`"),
        (("--cases", "unnamed.jsonl"), "unnamed.jsonl:1: passage 1 of `contexts` has no `id`, so nothing tells"),
        ((*FILES, "--k", "1,zero"), "is no list of cut-offs"),
        ((*FILES, "--k", "0"), "is no list of cut-offs"),
        ((*FILES, "-m", "nDGC"), "is no metric"),
        (("--qrels", "none.txt", "--ranking", "ranking.txt"), "none.txt: there is no such file"),
        (("--qrels", "ranking.txt", "--ranking", "ranking.txt"), "ranking.txt:1: has 6 columns"),
        (("--qrels", "empty.txt", "--ranking", "ranking.txt"), "empty.txt: is empty"),
        (("--qrels", "other.txt", "--ranking", "ranking.txt"), "ranking.txt: has no query of other.txt"),
        (("--qrels", "-", "--ranking", "-"), "standard input can't be both"),
        ((*FILES, "--span-share", "0"), "give a share above 0, at most 1"),
        (("--check-ids", "ids.txt"), "whose labels? give --qrels, or --cases"),
        ((*FILES, "--index", "empty.txt"), "empty.txt: is empty: it holds no ids"),
        ((*FILES, "--index", "ids.txt"), "stale qrels: 1 of 2 relevant ids are not in the index; see which"),
        (("--qrels", "spans.jsonl", "--ranking", "ranking.txt"), "give `doc`, `start` and `end`"),
        (("--qrels", "old.txt", "--ranking", "new.txt"), "stale qrels: 1 of 1 relevant ids are not in the index"),
        (("--cases", "bare.jsonl"), "bare.jsonl:1: has no `relevant`"),
        (("--cases", "twice.jsonl"), 'twice.jsonl:2: `id` "q" is already that of another case'),
    ],
)
def test_wrong_input_is_one_line_that_says_what_to_do(folder: Path, arguments: tuple[str, ...], complaint: str) -> None:
    (folder / "empty.txt").touch()
    (folder / "ids.txt").write_text("a\nb\nx\n", encoding="utf-8")
    (folder / "spans.jsonl").write_text('{"query": "q1", "doc": "g", "start": 0, "end": 9, "grade": 1}\n', "utf-8")
    (folder / "old.txt").write_text("q1 0 g-1@512 1\n", encoding="utf-8")
    (folder / "new.txt").write_text("q1 Q0 g-1@256 1 1 s\n", encoding="utf-8")
    (folder / "other.txt").write_text("q7 0 a 1\n", encoding="utf-8")
    (folder / "bare.jsonl").write_text('{"id": "q", "retrieved": []}\n', encoding="utf-8")
    (folder / "lost.jsonl").write_text('{"id": "q", "relevant": []}\n', encoding="utf-8")
    (folder / "unnamed.jsonl").write_text('{"id": "q", "contexts": ["text"], "relevant": []}\n', encoding="utf-8")
    (folder / "twice.jsonl").write_text('{"id": "q", "retrieved": [], "relevant": []}\n' * 2, encoding="utf-8")
    done = judges("retrieval", *arguments, folder=folder, code=2)
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_document_retrieved_twice_is_refused_or_counted_once(folder: Path) -> None:
    (folder / "ranking.txt").write_text(RANKING + "q1 Q0 a 4 0.5 s\n", encoding="utf-8")
    done = judges("retrieval", *FILES, folder=folder, code=2)
    assert 'ranking.txt:6: query "q1": document "a" is retrieved twice' in done.stderr
    assert measured(folder, *FILES, "--keep-first", "-m", "recall")["rows"][0]["mean"]["value"] == 0.25


def test_hostile_ids_and_slices_reach_no_terminal(folder: Path) -> None:
    hostile = "q\x1b[31m\u202e"
    write_cases(folder, [{"id": hostile, "kind": hostile, "retrieved": [hostile], "relevant": [hostile]}])
    for arguments in (("--per-query",), ("--by", "kind"), ("--per-query", "--json")):
        done = judges("retrieval", "--cases", "cases.jsonl", *arguments, folder=folder)
        assert not {"\x1b", "\u202e"} & set(done.stdout + done.stderr)


def write_records(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def test_labels_on_spans_serve_any_chunking(folder: Path) -> None:
    write_records(
        folder / "spans.jsonl",
        [
            {"query": "q1", "doc": "guide", "start": 100, "end": 200, "grade": 1},
            {"query": "q1", "doc": "guide", "start": 500, "end": 600, "grade": 1},
        ],
    )
    for size, recall in ((300, 1.0), (150, 0.5)):
        chunks = [
            {
                "query": "q1",
                "document": f"c{start}",
                "score": -start,
                "doc": "guide",
                "start": start,
                "end": start + size,
            }
            for start in range(0, 600, size)
        ]
        write_records(folder / "chunks.jsonl", chunks)
        found = measured(
            folder, "--qrels", "spans.jsonl", "--ranking", "chunks.jsonl", "-m", "recall", "--span-share", "1"
        )
        assert found["rows"][0]["mean"]["value"] == recall
        assert found["rows"][0]["ceiling"] is None
        assert found["relevant"] == 2


def test_any_of_a_group_of_a_case_suffices(folder: Path) -> None:
    write_cases(folder, [{"id": "q", "retrieved": ["b"], "relevant": [["a", "b"], "c"]}])
    assert measured(folder, "--cases", "cases.jsonl", "-m", "recall")["rows"][0]["mean"]["value"] == 0.5


def test_labels_on_texts_that_have_changed_are_named_stale_and_left_out(folder: Path) -> None:
    write_cases(
        folder,
        [
            {
                "id": "q1",
                "retrieved": [{"id": "a", "text": "new"}, {"id": "b", "text": "same"}],
                "relevant": [{"id": "a", "text": "old"}, {"id": "b", "text": "same"}, {"id": "c", "text": "?"}],
            },
            {"id": "q2", "retrieved": [], "relevant": [{"id": "a", "text": "old"}]},
        ],
    )
    found = measured(folder, "--cases", "cases.jsonl", "-m", "recall")
    assert found["stale_labels"] == [{"query": "q1", "document": "a"}, {"query": "q2", "document": "a"}]
    assert (found["queries"], found["stale_queries"], found["unchecked_texts"]) == (1, ["q2"], 1)
    assert found["rows"][0]["mean"]["value"] == 0.5
    notes = judges("retrieval", "--cases", "cases.jsonl", folder=folder).stderr
    assert "stale: 2 labels left out, since the passage has another text now: a\n" in notes
    assert "stale: 1 of the queries left out" in notes
    assert "1 label with a text not checked" in notes


def test_a_set_whose_every_relevant_document_was_retrieved_is_suspect(folder: Path) -> None:
    write_cases(folder, [{"id": "q", "retrieved": ["x", "a"], "relevant": ["a"]}])
    found = measured(folder, "--cases", "cases.jsonl")
    assert (found["relevant"], found["relevant_retrieved"]) == (1, 1)
    suspicion = "if people labelled only what this retriever found, recall and what is built on it measure nothing"
    assert suspicion in judges("retrieval", "--cases", "cases.jsonl", folder=folder).stderr
    assert suspicion not in judges("retrieval", *FILES, folder=folder).stderr


def test_relevant_ids_that_are_gone_are_listed(folder: Path) -> None:
    (folder / "ids.txt").write_text("a\nx\n", encoding="utf-8")
    done = judges("retrieval", "--qrels", "qrels.txt", "--check-ids", "ids.txt", folder=folder)
    assert done.stdout.splitlines()[1].split(maxsplit=2) == ["q1", "c", "no such id"]
    assert done.stdout.splitlines()[-1] == "1 of 3 relevant labels not in ids.txt"
    assert measured(folder, "--cases", "cases.jsonl", "--check-ids", "ids.txt") == {
        "relevant": 3,
        "absent": [{"query": "q1", "relevant": "c", "why": "no such id"}],
    }


def test_an_index_tells_texts_that_the_ranking_does_not(folder: Path) -> None:
    write_records(folder / "index.jsonl", [{"id": "a", "text": "new"}, {"id": "b", "text": "same"}])
    write_records(
        folder / "qrels.jsonl",
        [
            {"query": "q1", "document": "a", "grade": 1, "text": "old"},
            {"query": "q1", "document": "b", "grade": 1, "text": "same"},
        ],
    )
    found = measured(
        folder, "--qrels", "qrels.jsonl", "--ranking", "ranking.txt", "--index", "index.jsonl", "-m", "recall"
    )
    assert found["stale_labels"] == [{"query": "q1", "document": "a"}]
    assert found["rows"][0]["mean"]["value"] == 1
