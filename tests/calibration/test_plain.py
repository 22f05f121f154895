"""What any judge has to beat."""

from calibration.plain import length_of, overlap_of
from judges import Case, Context, Part


def test_words_are_looked_for_where_the_criterion_says() -> None:
    case = Case(
        "a",
        question="red blue",
        answer="red green",
        contexts=(Context("green grass"), Context("red sky")),
        references=("red", "blue black"),
    )
    assert overlap_of(case, Part.ANSWER, Part.CONTEXTS) == 1.0
    assert overlap_of(case, Part.ANSWER, Part.QUESTION) == 0.5
    assert overlap_of(case, Part.ANSWER, Part.REFERENCES) == 1.0
    assert overlap_of(case, Part.ANSWER, None) == 0.0
    assert overlap_of(Case("b"), Part.ANSWER, Part.CONTEXTS) == 0.0
    assert length_of(case, Part.ANSWER) == 9.0


def test_of_two_answers_a_s_share_counts_against_b_s() -> None:
    case = Case("a", question="red blue", answer="red blue", rival="red and long")
    assert overlap_of(case, Part.ANSWER, Part.QUESTION) == 0.5
    assert length_of(case, Part.ANSWER) == -4.0
