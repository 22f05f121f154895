from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges import Abstained, ClaimVerdict, Evidence, Failed, Judgement, LedgerError, Verdict
from judges.engine.ledger import Ledger, decode, encode, lines, outcome_record

texts = st.text(st.characters(codec="utf-8"), max_size=20)
scores = st.floats(0, 1)
evidence = st.builds(
    Evidence,
    st.sampled_from(["contexts", "answer"]),
    st.integers(0, 5),
    st.integers(0, 9),
    st.integers(0, 9),
    st.none() | texts,
)
probabilities = st.none() | st.dictionaries(texts, scores, max_size=2)
claims = st.builds(
    ClaimVerdict, texts, scores, texts, st.none() | texts.filter(bool), probabilities, st.none() | evidence,
    st.none() | st.integers(0, 9), st.none() | st.integers(0, 9),
)  # fmt: skip
verdicts = st.builds(
    Verdict, scores, texts, st.none() | texts.filter(bool), probabilities, st.lists(claims, max_size=3).map(tuple),
    st.none() | evidence,
)  # fmt: skip
outcomes = verdicts | st.builds(Abstained, texts.filter(bool), texts) | st.builds(Failed, texts.filter(bool), texts)
judgements = st.builds(
    Judgement,
    case_id=texts,
    criterion=texts,
    judge=texts,
    outcome=outcomes,
    replicate=st.integers(0, 9),
    key=st.binary(min_size=16, max_size=16).map(bytes.hex),
    seconds=st.none() | scores,
)


def judgement(number: int, outcome: Verdict | Abstained | Failed | None = None) -> Judgement:
    return Judgement(f"c{number}", "x", "j", outcome or Verdict(0.5, "why"), key=f"{number:032x}")


@given(judgements)
@settings(max_examples=50)
def test_a_judgement_comes_back_from_the_ledger(tmp_path_factory: pytest.TempPathFactory, written: Judgement) -> None:
    path = tmp_path_factory.mktemp("ledger") / "ledger.jsonl"
    with Ledger(path) as ledger:
        ledger.append(written)
    [(offset, record)] = lines(path)
    assert offset == 0
    assert decode(record) == written


def test_the_keys_are_those_that_need_not_be_judged_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        ledger.append(judgement(1))
        ledger.append(judgement(2, Abstained("no_answer")))
        ledger.append(judgement(3, Failed("ValueError")))
        ledger.append(judgement(4, Failed("ValueError")))
        ledger.append(judgement(4))
    with Ledger(path) as again:
        assert again.keys == {bytes.fromhex(f"{number:032x}") for number in (1, 2, 4)}


@given(st.integers(1, 200))
@settings(max_examples=40)
def test_torn_anywhere_the_ledger_keeps_all_whole_lines_and_goes_on(
    tmp_path_factory: pytest.TempPathFactory, lost: int
) -> None:
    path = tmp_path_factory.mktemp("ledger") / "ledger.jsonl"
    with Ledger(path) as ledger:
        for number in range(5):
            ledger.append(judgement(number))
    whole = path.read_bytes()
    torn = whole[: len(whole) - lost]
    path.write_bytes(torn)
    assert [record["case"] for _, record in lines(path)] == [f"c{n}" for n in range(torn.count(b"\n"))]
    with Ledger(path) as again:
        kept = len(again.keys)
        assert kept in (torn.count(b"\n"), torn.count(b"\n") + 1)  # one more if only the line's end was lost
        assert again.repaired == (not torn.endswith(b"\n") and kept == torn.count(b"\n") and torn != b"")
        again.append(judgement(9))
    assert len(list(lines(path))) == kept + 1
    assert path.read_bytes().endswith(b"\n")


def test_a_torn_line_longer_than_a_chunk_is_cut_off_whole(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        ledger.append(judgement(1))
        ledger.append(judgement(2, Verdict(0.5, "long " * 60_000)))
    path.write_bytes(path.read_bytes()[:-10])
    with Ledger(path) as again:
        assert again.repaired
        assert len(again.keys) == 1
    assert path.read_bytes().count(b"\n") == 1


@pytest.mark.parametrize(
    "line", [b"{", b"null", b"12", b"{}", b'{"key": "zz"}', b'{"key": "00"}', b"\xff\xfe", b"\0" * 50, b""], ids=repr
)
def test_a_corrupt_line_in_the_middle_is_an_error_that_names_it(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "ledger.jsonl"
    good = encode(judgement(1)) + b"\n"
    path.write_bytes(good + line + b"\n" + good)
    with pytest.raises(LedgerError, match=r"ledger\.jsonl:2: not a judgement"):
        Ledger(path)
    with pytest.raises(LedgerError, match=r"ledger\.jsonl:2: "):
        list(lines(path))


def test_a_ledger_that_does_not_exist_is_empty(tmp_path: Path) -> None:
    assert list(lines(tmp_path / "none.jsonl")) == []


def test_a_ledger_in_a_place_that_can_not_be_written_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="--out"):
        Ledger(tmp_path / "no" / "ledger.jsonl")
    (tmp_path / "folder").mkdir()
    with pytest.raises(LedgerError, match="--out"):
        Ledger(tmp_path / "folder")


def test_text_that_no_utf8_can_hold_is_kept_as_well_as_can_be(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        ledger.append(judgement(1, Verdict(0.5, "half \ud800 of a pair", claims=(ClaimVerdict("\udfff", 1.0),))))
    [(_, record)] = lines(path)
    assert record["verdict"]["rationale"] == "half ? of a pair"


def test_what_is_absent_takes_no_room() -> None:
    assert outcome_record(Verdict(1.0)) == {"verdict": {"score": 1.0}}
    assert outcome_record(Abstained("no_answer")) == {"abstained": {"reason": "no_answer"}}
