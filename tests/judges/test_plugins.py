import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from judges import FAITHFULNESS, Criterion, InputError, Judge, Part, TokenOverlapJudge
from judges.config import criterion_named, judge_named, reader_named
from judges.plugins import available, installed, resolve

MODULE = """
from judges import Criterion, Part, TokenOverlapJudge

class Bare:
    pass

class Mine(TokenOverlapJudge):
    pass

def make():
    return Mine()

def broken():
    raise RuntimeError("no luck")

INSTANCE = Mine()
TONE = Criterion("tone", Part.ANSWER)

class Holder:
    inner = Mine
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name = "mine_of_plugins"
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield name
    sys.modules.pop(name, None)


def test_ours_are_found_by_name() -> None:
    assert isinstance(judge_named("overlap"), TokenOverlapJudge)
    assert criterion_named("faithfulness") is FAITHFULNESS


@pytest.mark.parametrize("name", available("judges.criteria"))
def test_every_criterion_is_called_as_it_is_named(name: str) -> None:
    assert criterion_named(name).name == name


@pytest.mark.parametrize("path", ["Mine", "make", "INSTANCE", "Holder.inner"])
def test_a_class_a_function_or_an_instance_of_an_application_makes_a_judge(module: str, path: str) -> None:
    judge = judge_named(f"{module}:{path}")
    assert isinstance(judge, Judge)
    assert type(judge).__name__ == "Mine"


def test_a_criterion_of_an_application_is_found(module: str) -> None:
    assert criterion_named(f"{module}:TONE") == Criterion("tone", Part.ANSWER)


def test_what_is_not_what_it_should_be_is_refused(module: str) -> None:
    with pytest.raises(InputError, match="not a judge, it has no `name`, `fingerprint`, `supports`, `judge`"):
        judge_named(f"{module}:Bare")
    with pytest.raises(InputError, match=r"can't be made \(RuntimeError: no luck"):
        judge_named(f"{module}:broken")
    with pytest.raises(InputError, match="that is a Mine, not a Criterion"):
        criterion_named(f"{module}:INSTANCE")
    with pytest.raises(InputError, match="that is a Criterion, not a function"):
        reader_named(f"{module}:TONE")


@pytest.mark.parametrize(
    "name", ["no_such_module:X", "mine_of_plugins:Nothing", "mine_of_plugins:", ":", ":X", "a b:c"]
)
def test_what_can_not_be_imported_is_refused_in_one_line(module: str, name: str) -> None:
    with pytest.raises(InputError, match="can't be imported") as refused:
        resolve("judges.judges", name)
    assert "\n" not in str(refused.value)


def test_an_unknown_name_is_answered_with_the_near_and_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"did you mean `overlap`.*known: checks, overlap.*package\.module:object"):
        resolve("judges.judges", "overlapp")
    with pytest.raises(InputError, match=r"no reader is called `x`; your own: package\.module:object"):
        resolve("judges.datasets", "x")


def test_an_installed_package_offers_its_own_by_entry_point(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "offering-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n", encoding="utf-8")
    (folder / "entry_points.txt").write_text(
        f"[judges.judges]\noffered = {module}:Mine\n[judges.criteria]\ntone = {module}:TONE\n", encoding="utf-8"
    )
    sys.path.insert(0, str(tmp_path))
    assert "offered" in available("judges.judges")
    assert type(judge_named("offered")).__name__ == "Mine"
    assert criterion_named("tone").name == "tone"


def test_our_own_commands_are_offered() -> None:
    assert "calibrate" in [point.name for point in installed("judges.commands")]
