from pathlib import Path

import pytest

from judges.case import Part
from judges.criterion import BINARY, Example, Level, Unit
from judges.errors import InputError
from judges.rubrics import read_rubric

TONE = """
description = "Is the answer friendly and plain?"
judged = "answer"
against = "question"
reads = ["history"]

[[levels]]
label = "rude"
score = 0.0
description = "It blames the person who asked."

[[levels]]
label = "friendly"
score = 1.0

[[examples]]
answer = "Read the manual."
verdict = "rude"
rationale = "It sends the person away."
"""


def test_a_file_makes_a_criterion_named_after_it(tmp_path: Path) -> None:
    file = tmp_path / "tone.toml"
    file.write_text(TONE)
    criterion = read_rubric(file)
    assert (criterion.name, criterion.hypothesis, criterion.premise) == ("tone", Part.ANSWER, Part.QUESTION)
    assert criterion.parts == (Part.QUESTION, Part.HISTORY, Part.ANSWER)
    assert criterion.scale.levels[0] == Level("rude", 0.0, "It blames the person who asked.")
    assert criterion.examples == (Example({"answer": "Read the manual."}, "rude", "It sends the person away."),)


def test_the_least_file_asks_yes_or_no_of_the_answer(tmp_path: Path) -> None:
    file = tmp_path / "polite.toml"
    file.write_text('description = "Is it polite?"')
    criterion = read_rubric(file)
    assert (criterion.name, criterion.scale, criterion.unit) == ("polite", BINARY, Unit.WHOLE)


def test_a_pair_reads_both_answers(tmp_path: Path) -> None:
    file = tmp_path / "clearer.toml"
    file.write_text(
        'unit = "pair"\n[[levels]]\nlabel = "second"\nscore = 0\n[[levels]]\nlabel = "first"\nscore = 1\n'
    )
    assert Part.RIVAL in read_rubric(file).parts


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("levles = []", "`levles`: a rubric has no such field"),
        ('judged = "reply"', "`judged`"),
        ('[[levels]]\nlabel = "only"\nscore = 1', "two levels or more"),
        ('[[levels]]\nlabel = "a"\nscore = 7', "`levels.0.score`"),
        ('[[examples]]\nanswer = "x"\nverdict = "maybe"', "labelled `maybe`"),
        ('name = "a b"', "`a b` is no name"),
        ("name = ", "no TOML"),
    ],
    ids=str,
)
def test_a_wrong_rubric_is_refused_in_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "tone.toml"
    file.write_text(text)
    with pytest.raises(InputError, match="tone.toml") as caught:
        read_rubric(file)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
