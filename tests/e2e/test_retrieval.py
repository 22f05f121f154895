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
        "P@1", "P@2", "recall@1", "recall@2", "hit@1", "hit@2", "nDCG@1", "nDCG@2", "judged@1", "judged@2",
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
    wanted = measured(folder, *FILES)
    assert measured(folder, "--qrels", "qrels.csv", "--ranking", "ranking.jsonl") == wanted
    assert measured(folder, "--cases", "cases.jsonl")["rows"] == wanted["rows"]


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
        ((*FILES, "--cases", "cases.jsonl"), "leave out --qrels and --ranking"),
        ((*FILES, "--k", "1,zero"), "is no list of cut-offs"),
        ((*FILES, "--k", "0"), "is no list of cut-offs"),
        ((*FILES, "-m", "nDGC"), "is no metric"),
        (("--qrels", "none.txt", "--ranking", "ranking.txt"), "none.txt: there is no such file"),
        (("--qrels", "ranking.txt", "--ranking", "ranking.txt"), "ranking.txt:1: has 6 columns"),
        (("--qrels", "empty.txt", "--ranking", "ranking.txt"), "empty.txt: is empty"),
        (("--qrels", "other.txt", "--ranking", "ranking.txt"), "ranking.txt: has no query of other.txt"),
        (("--qrels", "-", "--ranking", "-"), "standard input can't be both"),
        (("--cases", "bare.jsonl"), "bare.jsonl:1: has no `relevant`"),
        (("--cases", "twice.jsonl"), 'twice.jsonl:2: `id` "q" is already that of another case'),
    ],
)
def test_wrong_input_is_one_line_that_says_what_to_do(folder: Path, arguments: tuple[str, ...], complaint: str) -> None:
    (folder / "empty.txt").touch()
    (folder / "other.txt").write_text("q7 0 a 1\n", encoding="utf-8")
    (folder / "bare.jsonl").write_text('{"id": "q", "retrieved": []}\n', encoding="utf-8")
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
