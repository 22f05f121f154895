from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.errors import InputError
from judges.retrieval.fields import Line
from judges.retrieval.ranking import Ranking, ranking_of, read_rankings, read_trec_rankings

SCORED = st.lists(st.tuples(st.text(min_size=1, max_size=2), st.sampled_from([0.0, 0.5, 1.0, -3.0])), max_size=12)


def lines(text: str) -> list[Line]:
    return [(f"r.txt:{number}", line.encode()) for number, line in enumerate(text.splitlines(), 1)]


@given(SCORED, st.randoms())
def test_the_order_of_input_does_not_matter(scored: list[tuple[str, float]], random: Random) -> None:
    shuffled = random.sample(scored, len(scored))
    assert Ranking.by_score(shuffled, keep_first=True) == Ranking.by_score(scored, keep_first=True)


def test_scores_descend_and_ties_go_by_id_descending_as_text() -> None:
    ranking = Ranking.by_score([("d10", 1.0), ("d9", 1.0), ("e", 0.5), ("a", 2.0)])
    assert ranking.documents == ("a", "d9", "d10", "e")
    assert ranking.scores == (2.0, 1.0, 1.0, 0.5)


def test_a_document_retrieved_twice_is_an_error_unless_the_first_copy_is_kept() -> None:
    twice = [("a", 1.0), ("b", 2.0), ("a", 3.0)]
    with pytest.raises(InputError, match=r'document "a" is retrieved twice; .* --keep-first'):
        Ranking.by_score(twice)
    assert Ranking.by_score(twice, keep_first=True) == Ranking(("a", "b"), (3.0, 2.0))
    assert Ranking.in_order(["b", "a", "b"], keep_first=True) == Ranking(("b", "a"))


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_not_finite_is_an_error(score: float) -> None:
    with pytest.raises(InputError, match="give a finite number"):
        Ranking.by_score([("a", score)])


def test_the_rank_in_a_trec_ranking_is_ignored() -> None:
    rankings = read_trec_rankings(lines("q1 Q0 a 1 0.1 s\nq2 Q0 a 1 3 s\n\nq1\tQ0\tb\t2\t1e1\ts"))
    assert {query: ranking.documents for query, ranking in rankings.items()} == {"q1": ("b", "a"), "q2": ("a",)}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("q1 Q0 a 1 0.5", "has 5 columns; a line of a ranking is `query Q0 document rank score name`"),
        ("q1 Q0 a 1 nan s", '"nan" is no score; give a finite number'),
        ("q1 Q0 a 1 1_0 s", '"1_0" is no score'),
        ("q1 Q0 d0 1 1 s", 'query "q1": document "d0" is retrieved twice'),
    ],
)
def test_a_line_that_is_no_place_in_a_ranking_is_named_with_its_remedy(line: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        read_trec_rankings(lines(f"q1 Q0 d0 1 2 s\n{line}"))
    message = str(caught.value)
    assert message.startswith("r.txt:2: ")
    assert complaint in message
    assert "\n" not in message


def test_of_copies_in_a_file_the_best_is_kept_on_request() -> None:
    text = "q Q0 a 1 1 s\nq Q0 b 2 2 s\nq Q0 a 3 3 s"
    assert read_trec_rankings(lines(text), keep_first=True)["q"] == Ranking(("a", "b"), (3.0, 2.0))


def test_records_make_a_ranking_each_query() -> None:
    rankings = read_rankings(
        [
            ("a:1", {"query": "q1", "document": "d1", "score": 0.5}),
            ("a:2", {"query": "q1", "document": "d2", "score": "0.75"}),
        ]
    )
    assert rankings == {"q1": Ranking(("d2", "d1"), (0.75, 0.5))}
    with pytest.raises(InputError, match="a:3: has no `score`"):
        read_rankings([("a:3", {"query": "q1", "document": "d1"})])


def test_a_case_carries_ids_in_order_or_scores() -> None:
    assert ranking_of(["b", 1], "c:1") == Ranking(("b", "1"))
    assert ranking_of([{"id": "b"}, {"id": "a"}], "c:1") == Ranking(("b", "a"))
    assert ranking_of({"a": 1, "b": 2}, "c:1") == Ranking(("b", "a"), (2.0, 1.0))
    assert ranking_of([{"id": "a", "score": 1}, {"id": "b", "score": 2}], "c:1") == Ranking(("b", "a"), (2.0, 1.0))
    assert ranking_of([], "c:1") == Ranking()


@pytest.mark.parametrize(
    ("retrieved", "complaint"),
    [
        ("a", "`retrieved` is no list of ids"),
        ([{"id": "a", "score": 1}, {"id": "b"}], "a score for some documents only"),
        ([{"score": 1}], "has no `id`"),
        (["a", "a"], 'document "a" is retrieved twice'),
        ({"a": True}, "is no score"),
    ],
)
def test_what_a_case_can_not_carry_is_named(retrieved: object, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        ranking_of(retrieved, "c:1")
    assert str(caught.value).startswith("c:1: ")
    assert str(caught.value).count("c:1") == 1
    assert complaint in str(caught.value)
