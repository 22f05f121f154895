import pytest

from judges.errors import InputError
from judges.retrieval.fields import Line
from judges.retrieval.qrels import read_trec_qrels


def lines(text: str) -> list[Line]:
    return [(f"q.txt:{number}", line.encode()) for number, line in enumerate(text.splitlines(), 1)]


def test_trec_qrels_are_read_with_tabs_blanks_and_empty_lines() -> None:
    qrels = read_trec_qrels(lines("q1 0 d1 2\n\nq1\t0\td2\t-1\n  q2 Q0 d1 0 \r\n"))
    assert qrels.grades == {"q1": {"d1": 2, "d2": -1}, "q2": {"d1": 0}}


def test_an_id_may_hold_blanks_that_are_not_ascii() -> None:
    assert read_trec_qrels(lines("q\u00a01 0 d\u30001 1")).grades == {"q\u00a01": {"d\u30001": 1}}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("q1 d1 1", "q.txt:2: has 3 columns; a line of qrels is `query 0 document grade`"),
        ("q1 0 d1 0.5", '"0.5" is no grade; give a whole number'),
        ("q1 0 d1 1_0", '"1_0" is no grade'),
        ("q1 0 d1 nan", '"nan" is no grade'),
        ("q1 0 d1 1001", "of at most 1000"),
        ("q1 0 d0 1", 'document "d0" of query "q1" is judged a second time'),
    ],
)
def test_a_line_that_is_no_judgement_is_named_with_its_remedy(line: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        read_trec_qrels(lines(f"q1 0 d0 0\n{line}"))
    message = str(caught.value)
    assert message.startswith("q.txt:2: ")
    assert complaint in message
    assert "\n" not in message


def test_a_line_that_is_not_utf_8_is_named() -> None:
    with pytest.raises(InputError, match=r"q\.txt:7: is not UTF-8"):
        read_trec_qrels([("q.txt:7", b"q1 0 d\xff 1")])
