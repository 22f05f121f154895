from pathlib import Path

import pytest

from judges.case import Part
from judges.checks import (
    Answered,
    Category,
    Check,
    Language,
    Length,
    Phrases,
    Refusal,
    ValidJson,
    WellFormed,
)
from judges.criterion import BINARY, Example, Level, Unit
from judges.errors import InputError
from judges.rubrics import Rubric, read_criterion, read_rubric, rubric_file, rubric_names

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
    criterion = read_criterion(file)
    assert (criterion.name, criterion.hypothesis, criterion.premise) == ("tone", Part.ANSWER, Part.QUESTION)
    assert criterion.parts == (Part.QUESTION, Part.HISTORY, Part.ANSWER)
    assert criterion.scale.levels[0] == Level("rude", 0.0, "It blames the person who asked.")
    assert criterion.examples == (Example({"answer": "Read the manual."}, "rude", "It sends the person away."),)


def test_the_least_file_asks_yes_or_no_of_the_answer(tmp_path: Path) -> None:
    file = tmp_path / "polite.toml"
    file.write_text('description = "Is it polite?"')
    criterion = read_criterion(file)
    assert (criterion.name, criterion.scale, criterion.unit) == ("polite", BINARY, Unit.WHOLE)


def test_a_pair_reads_both_answers(tmp_path: Path) -> None:
    file = tmp_path / "clearer.toml"
    file.write_text('unit = "pair"\n[[levels]]\nlabel = "second"\nscore = 0\n[[levels]]\nlabel = "first"\nscore = 1\n')
    assert Part.RIVAL in read_criterion(file).parts


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
        ("checks = []", "the rubric is empty"),
        ('include = ["a", "a"]', "`a` is there twice"),
        ('[[checks]]\nkind = "json"', "`checks.0.name`: is missing"),
        ('[[checks]]\nname = "a"\nkind = "jsn"', "check `a`: there is no kind `jsn`; there are answered, well_formed,"),
        (
            '[[checks]]\nname = "a"\nkind = "length"\nmax = 5',
            "a check of kind `length` has no `max`; it has least, most, unit",
        ),
        ('[[checks]]\nname = "a"\nkind = "answered"\nmax = 5', "has no `max`; it has none"),
        (
            '[[checks]]\nname = "a"\nkind = "length"\nmost = "many"',
            "check `a`: `most`: input should be a valid integer",
        ),
        ('[[checks]]\nname = "a"\nkind = "length"', "check `a`: a length needs `least` or `most`"),
        ('[[checks]]\nname = "a"\nkind = "category"', "check `a`: `allowed`: is missing"),
        ('[[checks]]\nname = "a"\nkind = "json"\nschema = "no.json"', "no.json: can't be read: No such file"),
        ('[[checks]]\nname = "a"\nkind = "json"\nschema = "tone.toml"', "tone.toml: no JSON"),
        ('[[checks]]\nname = "a"\nkind = "json"\nschema = 1', "`schema` is no text"),
        ('[[criteria]]\nname = "a b"', "`a b` is no name"),
        ('[[criteria]]\nname = "a"\n[[checks]]\nname = "a"\nkind = "answered"', "`a` is there twice"),
    ],
    ids=str,
)
def test_a_wrong_rubric_is_refused_in_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "tone.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"tone\.toml") as caught:
        read_rubric(file)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_of_several_criteria_and_checks_is_a_rubric(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text('{"type": "object"}')
    file = tmp_path / "support.toml"
    file.write_text("""
include = ["faithfulness"]
[[criteria]]
name = "plain_words"
description = "Is the answer in plain words?"
[[criteria.levels]]
label = "no"
score = 0
[[criteria.levels]]
label = "yes"
score = 1
[[checks]]
name = "a"
kind = "answered"
[[checks]]
name = "b"
kind = "well_formed"
[[checks]]
name = "c"
kind = "json"
schema = "schema.json"
fenced = true
[[checks]]
name = "d"
kind = "category"
allowed = ["x", "y"]
match_case = false
[[checks]]
name = "e"
kind = "phrases"
required = ["x"]
one_of = ["y", "z"]
forbidden = ["w"]
whole_words = false
description = "Does it say x?"
[[checks]]
name = "f"
kind = "length"
least = 2
most = 5
unit = "sentences"
[[checks]]
name = "g"
kind = "language"
lang = "ca"
[[checks]]
name = "h"
kind = "refusal"
declared = ["No ho sé"]
field = "meta.answerable"
""")
    rubric = read_rubric(file)
    assert (rubric.name, rubric.include, [each.name for each in rubric.criteria]) == (
        "support",
        ("faithfulness",),
        ["plain_words"],
    )
    assert rubric.checks == (
        Check("a", Answered()),
        Check("b", WellFormed()),
        Check("c", ValidJson({"type": "object"}, fenced=True)),
        Check("d", Category(("x", "y"), match_case=False)),
        Check("e", Phrases(("x",), ("y", "z"), ("w",), whole_words=False), "Does it say x?"),
        Check("f", Length(2, 5, "sentences")),
        Check("g", Language("ca")),
        Check("h", Refusal(("No ho sé",), "meta.answerable")),
    )
    with pytest.raises(InputError, match=r"support\.toml: is a rubric, not one criterion; give it with --rubric"):
        read_criterion(file)


YAML = """
include: [faithfulness]
criteria:
  - name: polite
    description: Is it polite?
    levels: &scale
      - {label: no, score: 0}
      - {label: yes, score: 1, description: It is.}
  - {name: plain, levels: *scale}
checks:
  - name: short
    kind: length
    unit: words
    most: 120
"""
SAME = """
include = ["faithfulness"]
[[criteria]]
name = "polite"
description = "Is it polite?"
[[criteria.levels]]
label = "no"
score = 0
[[criteria.levels]]
label = "yes"
score = 1
description = "It is."
[[criteria]]
name = "plain"
[[criteria.levels]]
label = "no"
score = 0
[[criteria.levels]]
label = "yes"
score = 1
description = "It is."
[[checks]]
name = "short"
kind = "length"
unit = "words"
most = 120
"""


@pytest.mark.parametrize("ending", ["yaml", "yml"])
def test_yaml_says_the_same_as_toml(tmp_path: Path, ending: str) -> None:
    (tmp_path / "mine.toml").write_text(SAME, encoding="utf-8")
    (tmp_path / f"mine.{ending}").write_text(YAML, encoding="utf-8")
    assert read_rubric(tmp_path / f"mine.{ending}") == read_rubric(tmp_path / "mine.toml")


@pytest.mark.parametrize(
    ("yaml", "toml"),
    [
        ("levles: []", "levles = []"),
        ("judged: reply", 'judged = "reply"'),
        ("levels: [{label: a, score: 7}]", "levels = [{label = 'a', score = 7}]"),
        ("levels: [{label: 1, score: 0}]", "levels = [{label = 1, score = 0}]"),
        ("checks: [{kind: json}]", "checks = [{kind = 'json'}]"),
        ("checks: [{name: a, kind: length, most: many}]", "checks = [{name = 'a', kind = 'length', most = 'many'}]"),
        ("checks: [{name: a, kind: length, max: 5}]", "checks = [{name = 'a', kind = 'length', max = 5}]"),
        ("name: a b", 'name = "a b"'),
        ("include: [a, a]", "include = ['a', 'a']"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_of_yaml_in_the_same_words(tmp_path: Path, yaml: str, toml: str) -> None:
    said: list[str] = []
    for ending, text in (("yaml", yaml), ("toml", toml)):
        file = tmp_path / f"mine.{ending}"
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError) as caught:
            read_rubric(file)
        said.append(str(caught.value).replace(f".{ending}:", ":"))
    assert said[0] == said[1]


def test_files_that_a_rubric_includes_are_looked_for_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('include = ["tone", "other.yaml", "sub/../third.toml"]', encoding="utf-8")
    assert read_rubric(file).include == ("tone", str(tmp_path / "other.yaml"), str(tmp_path / "third.toml"))


def test_one_criterion_is_a_rubric_too(tmp_path: Path) -> None:
    file = tmp_path / "tone.toml"
    file.write_text(TONE)
    assert read_rubric(file) == Rubric("tone", criteria=(read_criterion(file),))


@pytest.mark.parametrize("name", rubric_names())
def test_each_rubric_of_ours_is_named_as_its_file(name: str) -> None:
    assert read_rubric(rubric_file(name)).name == name


def test_rag9_asks_six_plain_things_and_three_of_a_judge() -> None:
    rubric = read_rubric(rubric_file("rag9"))
    assert len(rubric.checks) == 6
    assert rubric.include == ("faithfulness", "answer_relevance", "source_use")
    assert not rubric.criteria
