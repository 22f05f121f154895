import re
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from judges.claims import Claim, ClaimSplitter, SentenceSplitter, Skipped, Split, refusal_of
from support.scripts import ANSWERS, ScriptAnswer

SPLITTER = SentenceSplitter()
LANGUAGES = st.sampled_from([None, "en", "ca", "fr", "ro", "zh-Hant", "ja", "th", "km", "ar", "hi", "el", "hy", "xx"])

_PARTS = st.sampled_from(
    [
        "The limit is 5 GB.",
        "Paris is big! ",
        "Why? ",
        "Sure, here is a list:",
        "I don't know. ",
        "word",
        "Dr. Smith",
        "3.14",
        "1986.",
        "12)",
        "1. ",
        "- ",
        "* ",
        "+ ",
        "• ",
        "•",
        "— ",
        "a) ",
        "# ",
        "## x\n",
        "> ",
        ">",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\t",
        "    ",
        "  ",
        "  \n",
        "\\\n",
        "---",
        "\n---\n",
        "===",
        "***",
        "**",
        "*",
        "_",
        "__",
        "~~",
        "`",
        "```",
        "\n```py\n",
        "~~~",
        "````",
        "```md\n",
        "|",
        "| a | b |\n|---|---|\n",
        "|-|-|",
        ":",
        "：",
        "<p>",
        "</p>",
        "<br>",
        "<b>",
        "<!-- x -->",
        "<!--",
        "<",
        ">",
        "[1]",
        " [2] ",
        "(source: d7)",
        "[a](http://b.c/d)",
        "https://a.b/c?x=1.",
        "[3]: http://a.b\n",
        "[",
        "]",
        "(",
        ")",
        '"',
        "”",
        "「",
        "」",
        "。",
        "今天很好。",
        "です",
        "។",
        "ល។",
        "ភ្នំ",
        "ไทย",
        "؟",
        "۔",
        "مصر",
        "है। ",
        "😀",
        "\U0001f468\u200d\U0001f469",
        "\ufe0f",
        "e\u0301",
        "\u00a0",
        "\u2028",
        "\u3000",
        "\0",
        "\ud800",
        "\x1c",
        "\ufeff",
        "...",
        "…",
        ".",
        "!",
        "?",
        ";",
        ",",
        "M. ",
        "av. ",
        "J.-P. ",
        "Node.JS",
        "**Notes**",
        "**Notes:**\n",
    ]
)
SOUP = st.lists(_PARTS, max_size=30).map("".join)
ANY_TEXT = st.one_of(SOUP, st.text(max_size=60))

# All that may be letters or digits in markup: tags, comments, numbers of items, what a block of code is written in.
_MARKUP_WITH_WORDS = re.compile(r"<!--[^<>]*-->|</?[A-Za-z][^<>]*>|\d{1,9}[.)]|(?:`{3,}|~{3,})[^\n\r\u2028\u2029]*")


def claims(text: str, lang: str | None = None) -> list[str]:
    return [claim.text for claim in SPLITTER.split(text, lang).claims]


def skipped(text: str, lang: str | None = None) -> list[tuple[str, str]]:
    """Reason and text of each stretch that was skipped for what it says."""
    return [
        (span.reason, text[span.start : span.end])
        for span in SPLITTER.split(text, lang).skipped
        if span.reason != "markup"
    ]


def in_order(split: Split) -> list[Claim | Skipped]:
    return sorted([*split.claims, *split.skipped], key=lambda span: (span.start, span.end))


# --- What always holds


@settings(max_examples=400, deadline=None)
@given(ANY_TEXT, LANGUAGES)
@example("1986.", None)
@example("> > 2.\n\n> 1986.", None)
@example("a \r\nb", None)
@example("\ud800 is a surrogate. \0 is not.", "en")
def test_claims_and_skipped_stretches_together_are_the_answer(text: str, lang: str | None) -> None:
    split = SPLITTER.split(text, lang)
    assert list(split.claims) == [span for span in in_order(split) if isinstance(span, Claim)]
    done = 0
    for span in in_order(split):
        assert text[done : span.start].strip() == ""
        assert done <= span.start < span.end <= len(text)
        assert text[span.start : span.end] == text[span.start : span.end].strip()
        done = span.end
    assert text[done:].strip() == ""


@settings(max_examples=400, deadline=None)
@given(ANY_TEXT, LANGUAGES)
def test_a_claim_is_a_stretch_of_the_answer_with_a_letter_or_a_digit(text: str, lang: str | None) -> None:
    for claim in SPLITTER.split(text, lang).claims:
        assert claim.text == text[claim.start : claim.end]
        assert any(character.isalnum() for character in claim.text)


@settings(max_examples=400, deadline=None)
@given(ANY_TEXT, LANGUAGES)
def test_no_words_are_taken_for_markup(text: str, lang: str | None) -> None:
    for span in SPLITTER.split(text, lang).skipped:
        if span.reason in {"markup", "fragment"}:
            rest = _MARKUP_WITH_WORDS.sub("", text[span.start : span.end])
            assert not any(character.isalnum() for character in rest), rest


@settings(max_examples=100, deadline=None)
@given(SOUP, LANGUAGES)
def test_the_same_answer_gives_the_same_claims(text: str, lang: str | None) -> None:
    assert SPLITTER.split(text, lang) == SentenceSplitter().split(text, lang)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(["The limit is 5 GB.", "Why?", "is", "Paris", "[1]", "3.14", "**b**", "<b>", "`x`"])))
def test_a_line_reads_the_same_alone_and_above_a_paragraph(words: list[str]) -> None:
    line = " ".join(["It", *words])
    assert claims(line + "\n\nLast one.") == [*claims(line), "Last one."]


@settings(max_examples=150, deadline=None)
@given(SOUP.filter(lambda text: "\r" not in text), LANGUAGES)
@example("``The limit is 5 GB.`Paris is big! ```\n", None)
def test_line_ends_of_windows_change_no_claim(text: str, lang: str | None) -> None:
    windows = text.replace("\n", "\r\n")
    assert [claim.replace("\r\n", "\n") for claim in claims(windows, lang)] == claims(text, lang)


# --- Sentences


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.script)
@pytest.mark.parametrize("tagged", [True, False], ids=["tagged", "untagged"])
def test_an_answer_in_any_script_yields_claims(answer: ScriptAnswer, tagged: bool) -> None:
    split = SPLITTER.split(answer.text, answer.lang if tagged else None)
    assert len(split.claims) == answer.sentences
    assert " ".join(claim.text for claim in split.claims).replace(" ", "") == answer.text.replace(" ", "")


def test_twelve_scripts_or_more_are_tried() -> None:
    assert len({answer.script.partition(",")[0] for answer in ANSWERS}) >= 12
    assert {"Han", "Kana and Han", "Thai", "Arabic", "Devanagari", "Hebrew", "Khmer"} <= {a.script for a in ANSWERS}


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.script)
def test_markdown_is_read_in_any_script(answer: ScriptAnswer) -> None:
    text = f"# {answer.text}\n\n- {answer.text}\n- **{answer.text}**\n\n| a |\n|---|\n| {answer.text} |\n"
    split = SPLITTER.split(text, answer.lang)
    assert len(split.claims) == 2 * answer.sentences + 1


@pytest.mark.parametrize(
    "sentence",
    [
        "Pi is 3.14 and costs 1.000,50 euros.",
        "Version 2.3.1 came out at 10.30.",
        "Dr. Smith and Mr. J. R. R. Tolkien met.",
        "Here **Dr. Smith** met *Mr. Jones* and __Dr.__ Lee.",
        "Ask us, e.g. by mail to ann.b@example.org.",
        "It is at https://example.org/a.b/c.html?x=1&y=2 and at www.example.com.",
        "It goes on ... and on... to the end.",
        "Use Node.JS or System.Out.println here.",
        "Open https://example.com/Foo.Bar now.",
        "Yahoo! is a company.",
        "He said “I will go.” and left.",
        "Run `echo done. Then stop` twice.",
        "It is a line that goes\nover two lines.",
        "The limit is: 5 GB",
        "1986. It was a good year.",
        "it was so !",
    ],
)
def test_a_sentence_stays_whole(sentence: str) -> None:
    assert claims(f"{sentence}\n\nThe end is here.") == [sentence, "The end is here."]


@pytest.mark.parametrize(
    ("lang", "text", "parts"),
    [
        ("ca", "El Sr. Puig viu a l'av. Diagonal, núm. 3. És gran.", 2),
        ("fr", "M. Dupont est là. J.-P. Sartre aussi.", 2),
        ("ro", "„Hai!” a spus el. Apoi plecă.", 2),
        ("ro", "Dl. Popescu stă pe str. Lungă nr. 5. E departe.", 2),
        ("de", "Am 3. Oktober 1990 kam Dr. Müller. Es war gut.", 2),
        ("ja", "「はい。」と言った。終わり。", 2),
        ("ja", "人口は1400万。3月に増えた。", 2),
        ("zh", "他说：“走吧。”然后走了。", 2),
        ("km", "មានឆ្មា ឆ្កែ។ល។ ចប់ហើយ។", 2),
    ],
)
def test_sentences_are_cut_as_their_language_does(lang: str, text: str, parts: int) -> None:
    assert len(claims(text, lang)) == parts


def test_text_without_spaces_is_cut_alike_however_long_it_is() -> None:
    assert claims("水在一百度沸腾。冰在零度融化。" * 3000, "zh") == ["水在一百度沸腾。", "冰在零度融化。"] * 3000


@pytest.mark.parametrize(
    "tag", ["pt-BR", "zh-Hant", "zh_CN", "EN", "eng", "xx", "", " ", "-", "!!", "😀", "\0", "e" * 99]
)
def test_any_language_tag_does(tag: str) -> None:
    text = "Water boils. Ice melts."
    assert claims(text, tag) == ["Water boils.", "Ice melts."]
    assert len(SentenceSplitter(tag).split(text).claims) == 2


def test_the_language_of_the_case_goes_before_the_default() -> None:
    text = "Dl. Popescu e aici. Stă jos."
    romanian, english = SentenceSplitter("ro"), SentenceSplitter("en")
    assert len(romanian.split(text).claims) == 2
    assert len(english.split(text).claims) == 3
    assert english.split(text, "ro-MD") == romanian.split(text)
    assert romanian.split(text, "en") == english.split(text)
    assert romanian.split(text, "und") == romanian.split(text, "Romanian") == romanian.split(text)


# --- Short answers


@pytest.mark.parametrize(
    "answer",
    [
        "Paris",
        "42",
        "FedExField in Landover",
        "Yes.",
        "No",
        "1986.",
        "1)",
        "B) Paris",
        "3. Oktober 1990",
        "1. FC Köln",
        "½",
        "https://example.org",
        "[Paris](https://example.org)",
        "5 * 3",
        "-5",
    ],
)
def test_a_short_answer_is_one_claim(answer: str) -> None:
    assert claims(answer) == [answer]


@pytest.mark.parametrize("answer", ["**Paris**", "- Paris", "_Paris_", "<b>Paris</b>", "> Paris"])
def test_markup_around_a_claim_is_not_part_of_it(answer: str) -> None:
    assert claims(answer) == ["Paris"]


@pytest.mark.parametrize(
    "answer", ["", " \n\t", "...", "😀", "?!", "---", "- ", "```\n```", "| | |\n|-|-|\n| | |", "<br>", "# Paris", "[1]"]
)
def test_an_answer_that_says_nothing_has_no_claims(answer: str) -> None:
    assert claims(answer) == []


# --- Markdown


def test_blocks_of_markdown_become_claims() -> None:
    text = """Sure, here is a summary:

# Limits

The **free plan** has 5 GB [1]. It came
with v2.3.1.

The plans are:
- **Free:** 5 GB.
  - for one user
* Pro has 50 GB,
  for ten users
1. First come
2) First served

| Plan | Price |
|------|-------|
| Free | $0    |
| Pro  | **$5** |

```python
x = 1

print(x)
```

> Quoted and
> wrapped. Twice.

Setext
------
- - -
**Notes**
It works.

<p>In <b>bold</b>.</p><p>Again</p>
"""
    assert claims(text) == [
        "The **free plan** has 5 GB [1].",
        "It came\nwith v2.3.1.",
        "**Free:** 5 GB.",
        "for one user",
        "Pro has 50 GB,\n  for ten users",
        "First come",
        "First served",
        "Free | $0",
        "Pro  | **$5**",
        "x = 1\n\nprint(x)",
        "Quoted and\n> wrapped.",
        "Twice.",
        "It works.",
        "In <b>bold</b>.",
        "Again",
    ]
    assert skipped(text) == [
        ("filler", "Sure, here is a summary:"),
        ("heading", "# Limits"),
        ("filler", "The plans are:"),
        ("heading", "Plan | Price"),
        ("heading", "Setext"),
        ("heading", "**Notes**"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a one\n\n  more of it\n- b two", ["a one", "more of it", "b two"]),
        ("1. a\n   - b\n     1. c\n2. d", ["a", "b", "c", "d"]),
        ("    - far in\n        - farther", ["far in", "farther"]),
        ("•one\n•two", ["one", "two"]),
        ("• one\n• two\n◦ three", ["one", "two", "three"]),
        ("a) one\nb) two", ["a) one", "b) two"]),
        ("1、第一\n2、第二", ["1、第一", "2、第二"]),
        ("1914. War begins.\n1918. War ends.", ["1914. War begins.", "1918. War ends."]),
        ("> a\nlazy line\n> > deeper", ["a\nlazy line", "deeper"]),
        (">" * 30 + " too deep\n\nAfter it.", ["too deep", "After it."]),
        ("one  \ntwo\\\nthree<br>four", ["one", "two", "three", "four"]),
        ("**A1 is so. B2 is not.** Then **C3.**", ["A1 is so.", "B2 is not.", "Then **C3.**"]),
        ("*It is cold.* **Ice melts.** So it is.", ["It is cold.", "Ice melts.", "So it is."]),
        ("`````md\n````md\n# not a heading\n````\n`````", ["# not a heading"]),
        ("<p>It is\nso.</p>", ["It is\nso."]),
        ("[a]: b\n'c'", ["[a]: b\n'c'"]),
        ("- **Paris**\n- **Rome**", ["Paris", "Rome"]),
        ("```\nnever closed\n\n# not a heading", ["never closed\n\n# not a heading"]),
        ("```markdown\n# Title\n\nIt is so. It is not.\n```", ["It is so.", "It is not."]),
        ("The answer is 5.\n---\nMore to come", ["The answer is 5.", "More to come"]),
        ("<ul><li>one</li><li>two</li></ul>", ["one", "two"]),
        ("x < 5 and y > 3", ["x < 5 and y > 3"]),
        ("Call <name> now", ["Call <name> now"]),
    ],
)
def test_a_block_is_read_as_it_is_meant(text: str, expected: list[str]) -> None:
    assert claims(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "It is 5 GB. [1] It is free. (source: d7) That's all.",
            ["It is 5 GB. [1]", "It is free. (source: d7)", "That's all."],
        ),
        ("It is 5 GB. [1][2]", ["It is 5 GB. [1][2]"]),
        ("It is 5 GB. [Guide](https://a.b/c)", ["It is 5 GB. [Guide](https://a.b/c)"]),
        ("It is 5 GB【4†source】. Yes.", ["It is 5 GB【4†source】.", "Yes."]),
        ("It is 5 GB.\n\nSources: [1], https://a.b/c\n\n[2]: https://a.b/d", ["It is 5 GB."]),
    ],
)
def test_a_citation_belongs_to_its_sentence(text: str, expected: list[str]) -> None:
    assert claims(text) == expected


# --- What claims nothing


@pytest.mark.parametrize(
    "sentence",
    [
        "Sure!",
        "Of course!",
        "Sure, here is a summary of the refund policy.",
        "Here's what I found:",
        "Great question!",
        "The limits are:",
        "I hope this helps!",
        "Let me know if you have other questions.",
        "*I hope that helps.* 😀",
        "Feel free to ask if anything is unclear.",
        "If you have any other questions, just let me know!",
        "Esclar:",
        "És clar!",
        "Aquí tens el resum:",
        "Espero que t'ajudi!",
        "Si tens més preguntes, no dubtis a preguntar.",
        "Bien sûr !",
        "Voici ce que j’ai trouvé :",
        "J'espère que cela vous aide.",
        "N'hésitez pas à me poser d'autres questions.",
        "Sigur!",
        "Iată ce am găsit:",
        "Sper că te-am ajutat!",
        "Nu ezita să mă întrebi.",
        "Dacă ai alte întrebări, spune-mi.",
        "Hello, and thank you for your question!",
        "I'd be happy to help.",
        "Estic aquí per ajudar-te.",
        "Bonjour et merci pour votre question !",
        "Merci de votre patience.",
        "Je suis là pour vous aider.",
        "Bună ziua și mulțumesc pentru întrebare!",
        "Sunt aici să vă ajut.",
        "¡Hola! 😀",
        "Hola y gracias por su pregunta.",
        "¡Claro que sí!",
        "Espero que te ayude.",
        "Si tienes más preguntas, no dudes en preguntarme.",
        "Estoy aquí para ayudarte.",
        "以下是限制：",
    ],
)
def test_a_filler_is_not_a_claim(sentence: str) -> None:
    assert claims(sentence) == []
    assert {reason for reason, _ in skipped(sentence)} - {"fragment"} == {"filler"}
    assert claims(f"{sentence}\n\nThe limit is 5 GB.") == ["The limit is 5 GB."]
    assert claims(f"The limit is 5 GB.\n\n{sentence}") == ["The limit is 5 GB."]


@pytest.mark.parametrize(
    "sentence",
    [
        "Sure, the limit is 5 GB.",
        "Here's what I found: the limit is 5 GB.",
        "Here is where the river ends.",
        "If you have more than 5 GB, contact support.",
        "Hope is the thing with feathers.",
        "Certainly not.",
        "I don't know the exact figure, but it is about 5 GB.",
        "We do not store your data.",
        "You can ask for a refund.",
        "This document does not cover accidents.",
        "Users who do not know the code can't log in.",
        "Si tens dubtes, truca al 012.",
        "Voici Paris.",
        "Nu este gratuit.",
        "No és gratuït.",
        "Merci de redémarrer l'appareil.",
        "Hola is the Spanish greeting.",
        "De acuerdo con el contrato, el límite es 5 GB.",
        "Gracias a la vacuna, el virus desapareció.",
        'He asked "Why?" and left.',
    ],
)
def test_a_statement_that_looks_like_a_filler_is_a_claim(sentence: str) -> None:
    assert claims(sentence) == [sentence]


@pytest.mark.parametrize(
    "sentence",
    [
        "I don't know.",
        "I'm sorry, but I can't answer that from the documents.",
        "I could not find it in the sources.",
        "The provided context does not mention the price.",
        "Based on the documents, I cannot determine the date.",
        "I do not have enough information to answer.",
        "There is no information about it in the provided documents.",
        "No ho sé.",
        "Ho sento, però no puc respondre això.",
        "Els documents no esmenten el preu.",
        "Je ne sais pas.",
        "Désolé, je ne peux pas répondre.",
        "Les documents fournis ne mentionnent pas le prix.",
        "Nu știu.",
        "Din păcate, nu pot răspunde.",
        "Documentele nu conțin prețul.",
    ],
)
def test_a_refusal_is_kept_apart_from_claims(sentence: str) -> None:
    assert claims(sentence) == []
    assert skipped(sentence) == [("refusal", sentence)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Please contact our support team.",
        "For more information, please contact customer service.",
        "Kindly get in touch with us!",
        "Si us plau, contacteu amb l'equip de suport.",
        "Us preguem que contacteu amb nosaltres.",
        "Merci de contacter notre assistance.",
        "Veuillez contacter le support technique.",
        "Vă rog să contactați echipa de asistență.",
        "Vă rugăm să ne contactați.",
        "Por favor, contacte con nuestro equipo de soporte.",
        "Por favor, póngase en contacto con el servicio de atención al cliente.",
    ],
)
def test_a_request_to_turn_to_people_who_help_states_nothing(sentence: str) -> None:
    assert skipped(sentence) == [("request", sentence)]
    assert claims(sentence) == []
    assert claims(f"The limit is 5 GB. {sentence}") == ["The limit is 5 GB."]


@pytest.mark.parametrize(
    "sentence",
    [
        "Contact support.",
        "You can contact our support team.",
        "Please contact our support team at +1 555 0100.",
        "Please contact support to have the passphrase reset.",
        "Please contact your bank.",
        "Please restart the device.",
        "Please note that the limit is 5 GB.",
        "Contacteu amb l'equip de suport.",
        "Si us plau, reinicieu el dispositiu.",
        "Contactez notre support.",
        "Veuillez redémarrer l'appareil.",
        "Contactați echipa de asistență.",
        "Vă rog să reporniți dispozitivul.",
        "Contacte con nuestro equipo de soporte.",
        "Por favor, reinicie el dispositivo.",
    ],
)
def test_what_one_has_to_do_is_a_claim_whether_or_not_one_is_asked_to(sentence: str) -> None:
    assert claims(sentence) == [sentence]


@pytest.mark.parametrize(
    "sentence", ["Would you like more?", "¿Quieres más?", "もっと？", "هل تريد المزيد؟", "Θέλετε κι άλλο;"]
)
def test_a_question_is_not_a_claim(sentence: str) -> None:
    assert skipped(sentence) == [("question", sentence)]


# --- Size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("This is a sentence of words. " * 35_000, 35_000),
        ("word " * 200_000, 1),
        ("- item\n" * 20_000, 20_000),
        ("```\nx\n" * 25_000, 25_000),
        (">" * 50_000 + " deep", 1),
        ("- " * 20_000 + "deep", 1),
        ("*a " * 50_000, 1),
        ("[a](" * 50_000, 1),
        ("a <!--" * 20_000, None),
        ("<a " * 50_000, 1),
        ("http://a," * 30_000 + " b", 1),
        ("`" * 200_000, 0),
        ("a" + " " * 300_000 + "b", 1),
    ],
    ids=[
        "sentences",
        "words",
        "items",
        "fences",
        "quotes",
        "nested items",
        "stars",
        "links",
        "comments",
        "tags",
        "addresses",
        "ticks",
        "spaces",
    ],
)
def test_a_huge_answer_is_taken_apart(text: str, expected: int | None) -> None:
    found = SPLITTER.split(text)
    assert expected is None or len(found.claims) == expected
    assert sum(span.end - span.start for span in in_order(found)) >= len("".join(text.split()))


# --- The splitter as a value


def test_the_fingerprint_names_rules_libraries_and_language() -> None:
    splitter: ClaimSplitter = SentenceSplitter("ca")
    assert re.fullmatch(r"sentences=\d+ sentencex=[\d.]+ markdown-it-py=[\d.]+ lang=ca", splitter.fingerprint)
    assert splitter.fingerprint == SentenceSplitter("ca").fingerprint != SentenceSplitter("ro").fingerprint


def test_libraries_load_only_when_they_are_needed() -> None:
    script = (
        "import sys; from judges.claims import SentenceSplitter; splitter = SentenceSplitter(); splitter.fingerprint;"
        "assert not {'sentencex', 'markdown_it'} & set(sys.modules);"
        "splitter.split('Paris'); assert 'markdown_it' not in sys.modules;"
        "splitter.split('- Paris'); assert 'markdown_it' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Yes. We store the passphrase.", ["Yes. We store the passphrase."]),
        ("**No.** It is gone. It stays so.", ["**No.** It is gone.", "It stays so."]),
        ("Sí. Es pot recuperar.", ["Sí. Es pot recuperar."]),
        ("Non ! C'est perdu.", ["Non ! C'est perdu."]),
        ("Da. Se poate.", ["Da. Se poate."]),
        ("Yes.", ["Yes."]),
        ("Oui", ["Oui"]),
        ("- Yes.\n- No.", ["Yes.", "No."]),
    ],
)
def test_a_bare_yes_belongs_to_the_sentence_after_it(text: str, claims: list[str]) -> None:
    assert [claim.text for claim in SentenceSplitter().split(text).claims] == claims


@pytest.mark.parametrize(
    "sentence",
    ["Nu stiu.", "No ho se.", "Desole, je ne peux pas repondre.", "Cu placere!", "Da, cu mare drag vă explicăm!"],
)
def test_what_is_written_without_accents_is_recognised_too(sentence: str) -> None:
    assert not SentenceSplitter().split(f"{sentence}\n\nThe limit is 5 GB.").claims[1:]


def test_a_full_stop_in_thai_or_lao_abbreviates_and_ends_nothing() -> None:
    text = "สะพานเปิดใช้ใน พ.ศ. 2490"
    assert [claim.text for claim in SentenceSplitter().split(text, "th").claims] == [text]


@pytest.mark.parametrize(
    ("answer", "refuses", "claimed"),
    [
        ("I'm sorry, but I'm not able to help with that. Please get in touch with our support team.", True, 0),
        ("Ho sento, no us puc ajudar. Si us plau, contacteu amb l'equip de suport.", True, 0),
        ("Îmi pare rău, nu vă pot ajuta. Vă rog să contactați echipa de asistență.", True, 0),
        ("I'm not able to help with that. Contact our support team.", True, 1),
        ("I'm not able to help with that. Contact support to have the passphrase reset.", False, 1),
        ("The vault opens with your passphrase. Please contact support.", False, 1),
    ],
)
def test_where_else_to_turn_answers_nothing_and_without_a_please_is_still_a_claim(
    answer: str, refuses: bool, claimed: int
) -> None:
    """Then it stays a claim for faithfulness to look at; whether an answer refuses doesn't rest on it."""
    assert (refusal_of(answer, "en", []) is not None) is refuses
    assert len(SentenceSplitter().split(answer).claims) == claimed
