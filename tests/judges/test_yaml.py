import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges.errors import InputError
from judges.yaml import read_yaml


def read(folder: Path, text: str) -> dict[str, Any]:
    file = folder / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    return read_yaml(file)


def test_values_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    text = "a: no\nb: yes\nc: on\nd: 012\ne: 1:30\nf: true\ng: 0.5\nh:\ni: [x, 'y']\n"
    assert read(tmp_path, text) == {
        "a": "no", "b": "yes", "c": "on", "d": 12, "e": "1:30", "f": True, "g": 0.5, "h": None, "i": ["x", "y"],
    }  # fmt: skip


def test_anchors_say_a_thing_once(tmp_path: Path) -> None:
    found = read(tmp_path, "a: &scale [no, yes]\nb: *scale\nc: {<<: {d: 1}, e: 2}\n")
    assert found == {"a": ["no", "yes"], "b": ["no", "yes"], "c": {"d": 1, "e": 2}}


def bomb(line: str, first: str) -> str:
    """Each line ten times the one before."""
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{n}: &a{n} " + line.format(", ".join([f"*a{n - 1}"] * 10)) for n in range(1, 10)]
    return "\n".join(lines)


HOSTILE = {
    "a bomb of lists": (bomb("[{}]", "[x, x]"), "it comes to more than 20,000 values, its anchors followed"),
    "a bomb of merged objects": (bomb("{{<<: [{}]}}", "{x: 1}"), "it comes to more than 20,000 values"),
    "a list in itself": ("a: &a [*a]", "`*a` stands for something that it is itself part of; take it out (at line 1"),
    "an anchor twice": ("a: &x 1\nb: &x 2", "the anchor `&x` is there twice; give each its own name (at line 2, col"),
    "no such anchor": ("a: *x", "no YAML: found undefined alias 'x' (at line 1, column 4)"),
    "an object of Python": (
        "a: !!python/object:os.system x",
        "there is a tag, `tag:yaml.org,2002:python/object:os.sys",
    ),
    "a tag of its own": ("a: 1\nb: !mine x", "there is a tag, `!mine`; leave it out (at line 2, column 4)"),
    "lists without end": ("a: " + "[" * 100_000, "it is nested more than 50 deep"),
    "objects without end": ("a: " + "{a: " * 100_000, "it is nested more than 50 deep"),
    "bullets without end": ("- " * 100_000, "it is nested more than 50 deep"),
    "another YAML": ("%YAML 1.1\n---\na: no", "only YAML 1.2 is read; leave out the line with %YAML"),
    "a key twice": ("a: 1\na: 2", 'no YAML: found duplicate key "a" with value "2"'),
    "a key twice, further in": ("a:\n  - b: 1\n    b: 2", "(at line 3, column 5)"),
    "no YAML": ("a: b: c", "no YAML: mapping values are not allowed here (at line 1, column 5)"),
    "two documents": ("--- {a: 1}\n--- {b: 1}", "no YAML: but found another document (at line 2, column 1)"),
    "a NUL": ("a: \0", "no YAML: the character U+0000 is not allowed"),
    "an escape": ("a: \x1b[31m", "no YAML: the character U+001B is not allowed"),
    "a number without end": ("a: " + "9" * 5_000, "a number or a date in it is none (Exceeds the limit"),
    "no date": ("a: 2020-99-99", "a number or a date in it is none (month must be in 1..12); put it in quotes"),
    "a date": ("a: [{b: 2020-01-01}]", "`a.0.b`: 2020-01-01 is read as a date; put it in quotes"),
    "a key that is a number": ("a: [{1: 2}]", "`a.0`: the key 1 is no text; put it in quotes"),
    "a key that is a list": ("? [a]\n: b", "the key ('a',) is no text; put it in quotes"),
    "a key that is an object": ("? {a: 1}\n: b", "no YAML: found unhashable key (at line 1, column 3)"),
    "a list": ("- a", "holds no fields; give them one a line, as in `name: mine`"),
    "nothing": ("", "holds no fields"),
}


@pytest.mark.parametrize(("text", "complaint"), HOSTILE.values(), ids=HOSTILE.keys())
def test_what_cant_be_read_is_one_line_that_says_where_and_what(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'mine.yaml'}: ")
    assert complaint in message
    assert "\n" not in message
    assert len(message) < 300 + len(str(tmp_path))


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("ab01:-?&*!%|>'\"[]{}<=~.,# \n\t\0é"), max_size=40))
def test_whatever_a_file_holds_it_is_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    said = ""
    try:
        found = read(tmp_path_factory.getbasetemp(), text)
    except InputError as error:
        said = str(error)
        found = {}
    assert "\n" not in said
    assert all(isinstance(key, str) for key in found)


def test_what_is_no_text_or_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_yaml(tmp_path / "none.yaml")
    (tmp_path / "mine.yaml").write_bytes(b"a: \xff")
    with pytest.raises(InputError, match="can't be read: it is no UTF-8"):
        read_yaml(tmp_path / "mine.yaml")


def test_without_the_library_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("name: a", encoding="utf-8")
    script = (
        "import sys; sys.modules['ruamel.yaml'] = None\n"
        "from pathlib import Path\n"
        "from judges.rubrics import read_rubric\n"
        "try: read_rubric(Path('mine.yaml'))\n"
        "except Exception as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == ("mine.yaml: to read YAML, run: pip install 'judges-eval[yaml]'; or write the same as TOML\n")
