"""The example dataset keeps its own rules: structure, text, and labels that follow from how each answer was made."""

import json
import re
import unicodedata
from collections import Counter
from importlib.resources import files
from typing import TypedDict, cast

import pytest

FOLDER = files("judges").joinpath("example")
TEXT_FILES = ("cases.jsonl", "labels.jsonl", "qrels.txt", "ranking.txt", "README.md")
LANGUAGES = ("ca", "en", "fr", "ro")
IN_EVERY_LANGUAGE = {"none", "unsupported_number", "off_question", "wrong", "refused", "unanswerable_answered"}


class Passage(TypedDict):
    id: str
    text: str
    score: float


class Meta(TypedDict):
    topic: str
    question_type: str
    fault: str
    system: str


class ExampleCase(TypedDict):
    id: str
    lang: str
    question: str
    contexts: list[Passage]
    references: list[str]
    answer: str
    answerable: bool
    meta: Meta


class ExampleLabel(TypedDict):
    id: str
    gold: dict[str, str]
    note: str


def text_of(name: str) -> str:
    return FOLDER.joinpath(name).read_bytes().decode("utf-8")


def lines_of(name: str) -> list[str]:
    return text_of(name).removesuffix("\n").split("\n")


CASES = [cast("ExampleCase", json.loads(line)) for line in lines_of("cases.jsonl")]
LABELS = [cast("ExampleLabel", json.loads(line)) for line in lines_of("labels.jsonl")]
PASSAGES = {passage["id"]: passage["text"] for case in CASES for passage in case["contexts"]}


def read_qrels() -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for line in lines_of("qrels.txt"):
        case_id, iteration, passage_id, grade = line.split(" ")
        assert iteration == "0", line
        assert passage_id not in qrels.get(case_id, {}), f"twice: {line}"
        qrels.setdefault(case_id, {})[passage_id] = int(grade)
    return qrels


def read_rule() -> dict[str, dict[str, str]]:
    """The table of the README: the labels of each fault."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines_of("README.md") if line[:1] == "|"]
    criteria = rows[0][2:]
    return {row[0].strip("`"): dict(zip(criteria, row[2:], strict=True)) for row in rows[2:]}


QRELS = read_qrels()
RULE = read_rule()


def with_fault(*faults: str) -> list[ExampleCase]:
    return [case for case in CASES if case["meta"]["fault"] in faults]


def context_text(case: ExampleCase) -> str:
    return "\n".join(passage["text"] for passage in case["contexts"])


def retrieved_grades(case: ExampleCase) -> list[int]:
    """The grades of the retrieved passages, by rank."""
    grades = QRELS.get(case["id"], {})
    return [grades.get(passage["id"], 0) for passage in case["contexts"]]


def numbers(text: str) -> set[str]:
    return set(re.findall(r"(?<!\w)\d+(?:[.,]\d+)?(?!\w)", text))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def share_of_words_in_contexts(case: ExampleCase) -> float:
    known = set(words(context_text(case)))
    answer = words(case["answer"])
    return sum(word in known for word in answer) / len(answer)


@pytest.mark.parametrize("name", TEXT_FILES)
def test_a_file_is_composed_utf8_without_mark_or_cedilla_and_ends_with_one_newline(name: str) -> None:
    text = text_of(name)
    assert not text.startswith("\ufeff")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "\r" not in text
    assert unicodedata.is_normalized("NFC", text)
    assert not set(text) & set("\u015e\u015f\u0162\u0163"), "Romanian has a comma below s and t, not a cedilla"
    assert not re.search(r"l[.•]l", text), "Catalan has a middle dot between two l"


def test_the_languages_are_written_with_their_own_letters() -> None:
    letters = {lang: set("".join(case["answer"] for case in CASES if case["lang"] == lang)) for lang in LANGUAGES}
    assert set("șțăâî") <= letters["ro"]
    assert set("àèéíòóú·ç") <= letters["ca"] | set("".join(PASSAGES[name] for name in PASSAGES if name[:2] == "ca"))
    assert set("éèàê") <= letters["fr"] | set("".join(PASSAGES[name] for name in PASSAGES if name[:2] == "fr"))


def test_a_line_of_cases_holds_the_case_and_no_label() -> None:
    for case in CASES:
        assert set(case) == set(ExampleCase.__annotations__), case["id"]
        assert set(case["meta"]) == set(Meta.__annotations__), case["id"]
        assert all(set(passage) == set(Passage.__annotations__) for passage in case["contexts"]), case["id"]
        assert case["question"].strip(), case["id"]
        assert case["answer"].strip(), case["id"]
        assert 1 <= len(case["references"]) <= 2, case["id"]
        assert case["meta"]["system"] in {"a", "b"}, case["id"]
    assert not re.search(r'"(gold|label|labels|note)":', text_of("cases.jsonl"))


def test_the_ids_are_unique_and_begin_with_the_language() -> None:
    ids = [case["id"] for case in CASES]
    assert len(set(ids)) == len(ids)
    assert all(case["id"].startswith(case["lang"] + "-") for case in CASES)


def test_there_are_about_forty_cases_and_about_ten_in_each_language() -> None:
    counts = Counter(case["lang"] for case in CASES)
    assert 36 <= len(CASES) <= 48
    assert sorted(counts) == sorted(LANGUAGES)
    assert all(8 <= count <= 12 for count in counts.values())


def test_the_faults_are_those_of_the_readme_each_at_least_twice() -> None:
    counts = Counter(case["meta"]["fault"] for case in CASES)
    assert set(counts) == set(RULE)
    assert min(counts.values()) >= 2


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_language_has_good_answers_and_every_main_fault(lang: str) -> None:
    assert {case["meta"]["fault"] for case in CASES if case["lang"] == lang} >= IN_EVERY_LANGUAGE


def test_under_half_of_the_answers_are_good_and_both_systems_have_good_and_faulty_ones() -> None:
    assert 0.4 <= len(with_fault("none")) / len(CASES) <= 0.5
    assert len({(case["meta"]["system"], case["meta"]["fault"] == "none") for case in CASES}) == 4


def test_about_a_fifth_of_the_answers_use_markdown() -> None:
    marked = [case for case in CASES if re.search(r"^(#+ |- |\d+\. |\|)", case["answer"], re.MULTILINE)]
    assert 0.15 <= len(marked) / len(CASES) <= 0.3
    assert {case["lang"] for case in marked} == set(LANGUAGES)


def test_a_passage_has_one_text_everywhere_and_the_length_of_a_help_page() -> None:
    for case in CASES:
        for passage in case["contexts"]:
            assert passage["text"] == PASSAGES[passage["id"]], passage["id"]
            assert passage["id"].startswith(case["lang"] + "-"), case["id"]
    assert 25 <= len(PASSAGES) <= 40
    assert all(40 <= len(text.split()) <= 120 for text in PASSAGES.values())


def test_contexts_are_three_or_four_distinct_passages_by_falling_score_or_none_at_all() -> None:
    for case in CASES:
        scores = [passage["score"] for passage in case["contexts"]]
        assert scores == sorted(set(scores), reverse=True), case["id"]
        assert len({passage["id"] for passage in case["contexts"]}) == len(scores), case["id"]
        assert len(scores) in {0, 3, 4}, case["id"]
    assert 2 <= sum(not case["contexts"] for case in CASES) <= 3


def test_the_qrels_name_cases_and_passages_that_exist_and_grade_all_that_was_retrieved() -> None:
    by_id = {case["id"]: case for case in CASES}
    for case_id, grades in QRELS.items():
        assert set(grades) <= set(PASSAGES), case_id
        assert set(grades.values()) <= {0, 1, 2}, case_id
        assert max(grades.values()) == 2, case_id
        assert {passage["id"] for passage in by_id[case_id]["contexts"]} <= set(grades), case_id
        assert all(name.startswith(by_id[case_id]["lang"] + "-") for name in grades), case_id


def test_exactly_the_unanswerable_questions_have_no_qrels() -> None:
    unanswerable = {case["id"] for case in CASES if case["meta"]["question_type"] == "unanswerable"}
    assert unanswerable == {case["id"] for case in CASES} - set(QRELS)
    assert unanswerable == {case["id"] for case in CASES if not case["answerable"]}
    assert {case["id"] for case in with_fault("unanswerable_answered")} < unanswerable
    assert {case["meta"]["fault"] for case in CASES if case["id"] in unanswerable} == {"none", "unanswerable_answered"}


def test_retrieval_has_faults_to_find_relevant_passages_missing_and_ranked_last() -> None:
    answerable = [case for case in CASES if case["id"] in QRELS]
    missing = [case for case in answerable if not any(retrieved_grades(case))]
    last = [case for case in answerable if any(grades := retrieved_grades(case)) and not any(grades[:-1])]
    assert len(missing) >= 4
    assert len(last) >= 4


def test_the_labels_are_of_exactly_the_cases_and_follow_from_the_fault_by_the_table_of_the_readme() -> None:
    assert [label["id"] for label in LABELS] == [case["id"] for case in CASES]
    for case, label in zip(CASES, LABELS, strict=True):
        assert set(label) == {"id", "gold", "note"}
        assert label["gold"] == RULE[case["meta"]["fault"]], case["id"]
        assert label["note"].strip(), case["id"]


def test_the_table_of_the_readme_gives_each_criterion_both_values() -> None:
    for criterion, values in {
        "faithfulness": {"pass", "fail"},
        "answer_relevance": {"pass", "fail"},
        "correctness": {"correct", "incorrect"},
    }.items():
        assert {labels[criterion] for labels in RULE.values()} == values


def test_an_unsupported_number_is_in_no_retrieved_passage_and_in_no_reference() -> None:
    for case in with_fault("unsupported_number"):
        planted = numbers(case["answer"]) - numbers(context_text(case))
        assert len(planted) == 1, case["id"]
        assert not planted & numbers(" ".join(case["references"])), case["id"]


def test_the_numbers_of_a_faithful_answer_are_all_in_its_passages() -> None:
    for case in with_fault(*(fault for fault, labels in RULE.items() if labels["faithfulness"] == "pass")):
        assert numbers(case["answer"]) <= numbers(context_text(case)), case["id"]


def test_a_good_answer_to_an_answerable_question_had_all_relevant_passages() -> None:
    for case in with_fault("none"):
        relevant = {name for name, grade in QRELS.get(case["id"], {}).items() if grade == 2}
        assert relevant <= {passage["id"] for passage in case["contexts"]}, case["id"]


def test_a_refused_or_contradicted_answer_had_the_relevant_passage_and_a_misled_one_had_not() -> None:
    assert all(max(retrieved_grades(case)) == 2 for case in with_fault("refused", "contradicted"))
    assert all(max(retrieved_grades(case)) == 0 for case in with_fault("misled"))


def test_an_honest_refusal_names_what_was_asked_and_a_refused_answer_does_not() -> None:
    def stems(text: str) -> set[str]:
        return {word[:5] for word in words(text) if len(word) >= 5}

    honest = [case for case in with_fault("none") if case["id"] not in QRELS]
    assert len(honest) == len(LANGUAGES)
    assert all(stems(case["answer"]) & stems(case["question"]) for case in honest)
    assert not any(stems(case["answer"]) & stems(case["question"]) for case in with_fault("refused"))


def test_some_good_answers_share_fewer_words_with_their_passages_than_some_unfaithful_ones() -> None:
    good = [share_of_words_in_contexts(case) for case in with_fault("none") if case["id"] in QRELS]
    unfaithful = [share_of_words_in_contexts(case) for case in with_fault("wrong", "contradicted") if case["contexts"]]
    assert sum(share < 0.6 for share in good) >= 5
    assert sum(share > 0.85 for share in unfaithful) >= 4


def test_the_ranking_lists_the_passages_of_each_case_in_their_order() -> None:
    lines = [line.split() for line in lines_of("ranking.txt")]
    ranked = [(case, passage, int(rank), float(score)) for case, _, passage, rank, score, _ in lines]
    assert ranked == [
        (case["id"], passage["id"], rank, passage["score"])
        for case in CASES
        for rank, passage in enumerate(case["contexts"], 1)
    ]
