import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from judges import Abstained, Case, Criterion, Part, Verdict, check_judge, evaluate_sync
from judges.backends.checks import ChecksJudge
from judges.checks import (
    ANSWERED,
    CHECKS,
    DECLARED_REFUSAL,
    IN_LANGUAGE,
    Answered,
    Category,
    Check,
    Language,
    Length,
    Phrases,
    Refusal,
    Rule,
    ValidJson,
    WellFormed,
)
from judges.errors import InputError
from judges.printable import printable
from support.command import SHARED
from support.hostile_texts import HOSTILE

TICKET: dict[str, Any] = {
    "type": "object",
    "properties": {"category": {"enum": ["billing", "login"]}, "items": {"items": {"type": "number"}}},
    "required": ["category"],
}


def outcome(rule: Rule, answer: str | None, **fields: Any) -> Verdict | Abstained:
    check = Check("the_check", rule)
    return asyncio.run(ChecksJudge([check]).judge(Case("a", answer=answer, **fields), check.criterion))


def verdict(rule: Rule, answer: str | None, **fields: Any) -> Verdict:
    found = outcome(rule, answer, **fields)
    assert isinstance(found, Verdict), found
    assert found.label == ("yes" if found.score else "no")
    return found


def place(answer: str, found: Verdict) -> str:
    assert found.evidence is not None
    assert found.evidence.part == "answer"
    return answer[found.evidence.start : found.evidence.end]


@pytest.mark.parametrize(
    ("rule", "answer", "holds", "words"),
    [
        (Answered(), "5 GB", True, "there is an answer"),
        (Answered(), " \u200b\n", False, "is empty"),
        (Answered(), None, False, "is empty"),
        (WellFormed(), "**5 GB**, see `{{ code }}`", True, "nothing in it is broken"),
        (WellFormed(), "```jinja\n{{ name }}\n```\nDone.", True, "nothing in it is broken"),
        (WellFormed(), "Dear {{ customer.name }}, it is 5 GB.", False, "never filled in: “{{ customer.name }}”"),
        (WellFormed(), "It is 5 GB.<|im_end|>", False, "a mark that belongs to a prompt: “<|im_end|>”"),
        (WellFormed(), "Tinc 5 GB d\ufffdespai", False, "U+FFFD"),
        (WellFormed(), "Run this:\n```sh\nls", False, "opened and not closed"),
        (ValidJson(), '{"a": [1, null]}', True, "valid JSON, an object"),
        (ValidJson(), '{"a": 1,}', False, "no JSON at line 1, character 8: trailing comma"),
        (ValidJson(), '{\n  "a": NaN\n}', False, "no JSON at line 2, character 8"),
        (ValidJson(), "Here it is: {}", False, "no JSON at line 1, character 1"),
        (ValidJson(), "```json\n{}\n```", False, "stands in a Markdown fence"),
        (ValidJson(fenced=True), "```json\n{}\n```", True, "valid JSON, an object"),
        (ValidJson(fenced=True), "```json\n{\n```", False, "no JSON at line 2"),
        (ValidJson(TICKET), '{"category": "login"}', True, "valid JSON of the schema"),
        (ValidJson(TICKET), '{"category": "other"}', False, "`category`: 'other' is not one of"),
        (ValidJson(TICKET), '{"items": [1, "2"]}', False, "'category' is a required property; and 1 more"),
        (Category(("billing", "login")), " login\n", True, "it is “login”"),
        (Category(("billing", "login")), "Login", False, "“Login” is none of: billing, login"),
        (Category(("billing", "login"), match_case=False), "Login", True, "it is “login”"),
        (Category(("facturació",), match_accents=False), "facturacio", True, "it is “facturació”"),
        (Phrases(forbidden=("as an AI",)), "As an  AI, I can't.", False, "it says “As an AI”, which is forbidden"),
        (Phrases(forbidden=("as an AI",)), "It is 5 GB.", True, "nothing that is forbidden"),
        (Phrases(required=("ticket", "thank you")), "Thank you.", False, "doesn't say “ticket”, which is required"),
        (Phrases(required=("ticket",)), "Your Ticket is open.", True, "it says “Ticket”"),
        (Phrases(one_of=("merci", "gràcies")), "Gracies!", True, "it says “Gracies”"),
        (Phrases(one_of=("merci", "gràcies")), "Thanks!", False, "it says none of: merci, gràcies"),
        (Length(most=5), "  12345\n", True, "5 characters"),
        (Length(most=1), "e\u0301", True, "1 character"),
        (Length(most=5), "123456", False, "6 characters, more than 5"),
        (Length(least=3, unit="words"), "two – words", False, "2 words, fewer than 3"),
        (Length(most=2, unit="sentences"), "# Plan\n\nIt is 5 GB. I hope this helps! Why?", False, "3 sentences"),
        (Language("ca"), "El pla gratuït té cinc gigabytes d'espai, i el podeu ampliar.", True, "it is in `ca`"),
        (Language("fr-CA"), "El pla gratuït té cinc gigabytes d'espai, i el podeu ampliar.", False, "not in `fr-CA`"),
        (Language("nb"), "Gratisplanen har fem gigabyte lagringsplass, og du kan utvide den når du vil.", True, "`no`"),
    ],
)
def test_a_check_says_whether_it_holds_and_what_was_found(
    rule: Rule, answer: str | None, holds: bool, words: str
) -> None:
    found = verdict(rule, answer)
    assert (found.score, words in found.rationale) == (float(holds), True), found.rationale


@pytest.mark.parametrize(
    ("rule", "answer", "stands"),
    [
        (WellFormed(), "Dear {{ name }}, hello", "{{ name }}"),
        (ValidJson(), '{"a": oops}', "oops}"),
        (Phrases(forbidden=("déjà",)), "Ho hem fet DEJA avui", "DEJA"),
        (Phrases(required=("avui",)), "Ho hem fet avui", "avui"),
        (Refusal(), "Sorry, I don't know.", "Sorry, I don't know."),
    ],
)
def test_the_evidence_is_where_it_was_found(rule: Rule, answer: str, stands: str) -> None:
    assert place(answer, verdict(rule, answer, extra={"answerable": False})) == stands


REFUSED = "Unfortunately, the provided documents do not say."
ANSWER = "The free plan has 5 GB."


@pytest.mark.parametrize(
    ("answer", "can", "holds", "words"),
    [
        (REFUSED, False, True, "can't be answered, and was refused"),
        (REFUSED, True, False, "can be answered, and was refused"),
        (ANSWER, False, False, "can't be answered, and was not refused"),
        (ANSWER, True, True, "can be answered, and was"),
        ("I don't know. It may be 5 GB.", False, False, "was not refused"),
        ("No ho sé. Espero haver-te ajudat!", False, True, "was refused"),
        ("Happy to help!", False, False, "was not refused"),
    ],
)
def test_an_unanswerable_case_is_to_be_refused_and_an_answerable_one_is_not(
    answer: str, can: bool, holds: bool, words: str
) -> None:
    found = verdict(Refusal(), answer, extra={"answerable": can})
    assert (found.score, words in found.rationale) == (float(holds), True), found.rationale


def test_an_application_declares_how_it_refuses() -> None:
    rule = Refusal(declared=("We pass this on to a colleague",))
    answer = "We pass this on to a colleague."
    assert verdict(Refusal(), answer, extra={"answerable": False}).score == 0
    assert verdict(rule, answer, extra={"answerable": False}).score == 1
    assert verdict(rule, answer, extra={"answerable": True}).score == 0
    assert verdict(rule, f"{answer} It is 5 GB.", extra={"answerable": False}).score == 0


def test_where_a_case_says_nothing_its_relevant_passages_tell_and_else_the_judge_abstains() -> None:
    assert verdict(Refusal(), REFUSED, extra={"relevant": []}).score == 1
    assert verdict(Refusal(), REFUSED, extra={"relevant": ["d1"]}).score == 0
    assert outcome(Refusal(), REFUSED) == Abstained(
        "no_answerable", "the case doesn't say whether it can be answered; give it `answerable`, true or false"
    )
    assert verdict(Refusal(field="meta.known"), REFUSED, extra={"meta": {"known": "FALSE"}}).score == 1
    with pytest.raises(InputError, match="case 'a': `answerable` is 'perhaps'; give true or false"):
        outcome(Refusal(), REFUSED, extra={"answerable": "perhaps"})


@pytest.mark.parametrize(
    ("rule", "answer", "fields", "reason"),
    [
        (Language(), ANSWER, {}, "no_language"),
        (Language(), ANSWER, {"lang": "tlh"}, "unknown_language"),
        (Language(), "5 GB", {"lang": "en"}, "unsure"),
        (Length(most=5), " ", {}, "no_answer"),
        (ValidJson(), None, {}, "no_answer"),
        (ValidJson({"$ref": "#"}), "1", {}, "too_deep"),
    ],
)
def test_what_cannot_be_told_is_no_verdict(rule: Rule, answer: str | None, fields: dict[str, Any], reason: str) -> None:
    found = outcome(rule, answer, **fields)
    assert isinstance(found, Abstained)
    assert found.reason == reason


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_breaks_a_check_or_reaches_a_rationale_as_it_is(text: str) -> None:
    rules: list[Rule] = [
        Answered(),
        WellFormed(),
        ValidJson(TICKET),
        Category(("a",)),
        Phrases(required=("a",), forbidden=("b",)),
        Length(most=3, unit="sentences"),
        Language("en"),
        Refusal(),
    ]
    for rule in rules:
        found = outcome(rule, text, extra={"answerable": False})
        said = found.rationale if isinstance(found, Verdict) else found.detail
        assert said == printable(said), (rule, said)
        assert len(said) < 400


def test_deep_nesting_is_no_crash() -> None:
    deep = "[" * 100_000
    assert verdict(ValidJson(), deep + "]" * 100_000).score == 0
    nested: dict[str, Any] = {"items": {"$ref": "#"}}
    assert outcome(ValidJson(nested), "[" * 900 + "]" * 900) in (
        Abstained("too_deep", "it is nested too deeply to be held against the schema"),
        Verdict(1.0, "valid JSON of the schema, an array", "yes"),
    )


def test_it_keeps_the_promises_of_a_judge() -> None:
    case = Case("a", question="How much?", answer="The free plan has five gigabytes of space.", lang="en")
    check_judge(ChecksJudge(), [each.criterion for each in CHECKS], [replace(case, extra={"answerable": True})])


def test_it_serves_its_own_checks_only() -> None:
    judge = ChecksJudge([ANSWERED])
    assert judge.supports(ANSWERED.criterion)
    assert not judge.supports(IN_LANGUAGE.criterion)
    assert not judge.supports(Criterion("answered", Part.QUESTION))
    with pytest.raises(InputError, match="has no check `in_language`"):
        asyncio.run(judge.judge(Case("a", answer="b"), IN_LANGUAGE.criterion))
    with pytest.raises(InputError, match="two checks are called `answered`"):
        ChecksJudge([ANSWERED, Check("answered", WellFormed())])


def test_from_python_checks_are_judged_like_any_criterion() -> None:
    short = Check("short", Length(most=10, unit="words"))
    [judgement] = evaluate_sync([Case("a", answer="5 GB")], short.criterion, ChecksJudge([short]))
    assert judgement.score == 1
    assert short.criterion.description == "Has the answer at most 10 words?"


def test_another_limit_judges_again_what_it_affects_and_nothing_else() -> None:
    def judge(most: int) -> ChecksJudge:
        return ChecksJudge([ANSWERED, Check("short", Length(most=most))])

    short = Check("short", Length(most=5)).criterion
    answered = ANSWERED.criterion
    assert judge(5).fingerprint_for(short) == judge(5).fingerprint_for(short) != judge(6).fingerprint_for(short)
    assert judge(5).fingerprint_for(answered) == judge(6).fingerprint_for(answered)
    assert judge(5).fingerprint != judge(6).fingerprint


def test_a_schema_that_is_none_is_refused_before_anything_is_judged() -> None:
    with pytest.raises(InputError, match="check `form`: its schema is no JSON Schema: 'objekt' is not valid"):
        ChecksJudge([Check("form", ValidJson({"type": "objekt"}))])


def test_a_schema_is_never_fetched_from_elsewhere() -> None:
    with pytest.raises(InputError, match="may only refer to parts of itself"):
        outcome(ValidJson({"$ref": "http://127.0.0.1:9/schema.json"}), "{}")
    local: dict[str, Any] = {"$defs": {"text": {"type": "string"}}, "$ref": "#/$defs/text"}
    assert verdict(ValidJson(local), '"a"').score == 1


def test_without_the_library_for_schemas_it_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['jsonschema'] = None\n"
        "from judges.backends.checks import ChecksJudge\n"
        "from judges.checks import Check, ValidJson\n"
        "ChecksJudge([Check('form', ValidJson())])\n"
        "try: ChecksJudge([Check('form', ValidJson({}))])\n"
        "except Exception as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "check `form`: to hold answers against a schema, run: pip install 'judges-eval[schema]'"
    )


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        (lambda: Length(), "needs `least` or `most`"),
        (lambda: Length(least=5, most=4), "isn't below it"),
        (lambda: Phrases(), "one at least"),
        (lambda: Phrases(forbidden=("", "a")), "aren't empty"),
        (lambda: Category(()), "one at least"),
    ],
)
def test_a_rule_that_asks_nothing_is_refused(rule: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        rule()


MTRAG = SHARED / "data" / "mtrag_human_eval" / "items.jsonl"


@pytest.mark.skipif(not MTRAG.exists(), reason="the data set MTRAG isn't beside this checkout")
def test_refusals_are_told_as_the_makers_of_mtrag_tell_them() -> None:
    """`conditional_idk`: did the system say that it doesn't know exactly where it should?"""
    right = total = 0
    for line in MTRAG.read_text("utf-8").splitlines():
        item = json.loads(line)
        kind = item["meta"]["answerability"][0]
        if kind in ("ANSWERABLE", "UNANSWERABLE"):
            case = Case(item["id"], answer=item["answer"], lang="en", extra={"answerable": kind == "ANSWERABLE"})
            found = asyncio.run(ChecksJudge([DECLARED_REFUSAL]).judge(case, DECLARED_REFUSAL.criterion))
            assert isinstance(found, Verdict)
            total += 1
            right += found.score == item["judges"]["conditional_idk"]["idk"]
    assert (right, total) == (424, 426)
