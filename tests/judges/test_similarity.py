import math
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from judges.similarity import BLOCK, SHORTEST_WINDOW, Overlap, Passage, best_overlap, is_blank, tokenise

# U+0149 and a lone U+0345 change their kind of character with their case; nothing else does.
TEXT = st.text(st.characters(exclude_characters="\u0149\u0345"), max_size=60)
WORDS = st.lists(
    st.sampled_from(
        [
            *("the", "of", "not", "never", "bridge", "bridges", "opened", "1932", "1,000", "3.14", "king", "l'API"),
            *("n'est", "pas", "東京は", "首都", "กรุงเทพ", "हिन्दी", "Straße", "İzmir", "été", "서울은", "مُحَمَّد"),
        ]
    ),
    min_size=1,
    max_size=40,
).map(" ".join)

SENTENCES = {
    "Latin": ("en", "The bridge was opened on 19 March 1932."),
    "Greek": ("el", "Η γέφυρα άνοιξε στις 19 Μαρτίου 1932."),
    "Cyrillic": ("ru", "Мост был открыт 19 марта 1932 года."),
    "Arabic": ("ar", "افتتح الجسر في ١٩ مارس ١٩٣٢."),
    "Hebrew": ("he", "הגשר נפתח ב־19 במרץ 1932."),
    "Devanagari": ("hi", "पुल 19 मार्च 1932 को खोला गया था।"),
    "Bengali": ("bn", "সেতুটি ১৯ মার্চ ১৯৩২ সালে খোলা হয়েছিল।"),
    "Tamil": ("ta", "பாலம் 19 மார்ச் 1932 அன்று திறக்கப்பட்டது."),
    "Georgian": ("ka", "ხიდი გაიხსნა 1932 წლის 19 მარტს."),
    "Armenian": ("hy", "Կամուրջը բացվել է 1932 թվականի մարտի 19-ին։"),
    "Ethiopic": ("am", "ድልድዩ መጋቢት 19 ቀን 1932 ተከፈተ።"),
    "Hangul": ("ko", "다리는 1932년 3월 19일에 개통되었다."),
    "Han": ("zh", "大桥于1932年3月19日通车。"),
    "Kana": ("ja", "その橋は1932年3月19日に開通しました。"),
    "Thai": ("th", "สะพานเปิดเมื่อวันที่ 19 มีนาคม 1932"),
    "Lao": ("lo", "ຂົວໄດ້ເປີດໃນວັນທີ 19 ມີນາ 1932"),
    "Khmer": ("km", "ស្ពានត្រូវបានបើកនៅថ្ងៃទី 19 ខែមីនា 1932"),
    "Burmese": ("my", "တံတားကို ၁၉၃၂ ခုနှစ် မတ်လ ၁၉ ရက်တွင် ဖွင့်ခဲ့သည်။"),
    "Tibetan": ("bo", "ཟམ་པ་དེ་ ༡༩༣༢ ལོར་ཕྱེ་བ་རེད།"),
}


@given(st.lists(st.sampled_from(["gate", "north", "green", "1932", "blue", "of"]), min_size=1, max_size=8), st.data())
def test_what_is_granted_weighs_an_eighth_and_changes_nothing_that_is_all_there(
    words: list[str], data: st.DataObject
) -> None:
    granted = frozenset(data.draw(st.sets(st.sampled_from(["gate", "north", "green", "1932"]))))
    claim = tokenise(" ".join(words), "en")
    whole = best_overlap(claim, [Passage(" ".join(reversed(words)), "en")], granted=granted)[1]
    assert whole.score == pytest.approx(1)
    found = best_overlap(claim, [Passage("north gate", "en")], granted=granted)[1]
    weights = {word: (12 if word == "1932" else len(word)) / (8 if word in granted else 1) for word in words}
    held = sum(weight for word, weight in weights.items() if word in ("north", "gate"))
    is_absent = "1932" in words and "1932" not in granted
    assert found.score == pytest.approx(held / sum(weights.values()) * (0.3 if is_absent else 1))


def look(claim: str, *passages: str, lang: str = "en", penalty: float = 0.3) -> Overlap:
    return best_overlap(tokenise(claim, lang), [Passage(text, lang) for text in passages], penalty=penalty)[1]


def score(claim: str, *passages: str, lang: str = "en") -> float:
    return look(claim, *passages, lang=lang).score


@pytest.mark.parametrize(
    ("lang", "text", "keys"),
    [
        ("en", "The state-of-the-art, snake_case API", "the state of the art snake case api"),
        ("en", "It can't, won't and isn’t", "it can not will not and is not"),
        ("en", "the U.S. and D.C., e.g. example.com", "the us and dc eg example com"),
        (
            "en",
            "H2O at 5kg in the 1930s, the 1930's and on the 19th",
            "h2o at 5 kg in the 1930s the 1930s and on the 19 th",
        ),
        ("en", "50% of $5 or €5", "50 % of $ 5 or € 5"),
        ("fr", "l'API d’un n'est", "l api d un n est"),
        ("ca", "col·lecció coŀlecció l'illa", "col·lecció col·lecció l illa"),
        ("ro", "știință ştiinţă", "știință știință"),
        ("de", "Straße STRASSE", "strasse strasse"),
        ("tr", "İSTANBUL istanbul ISPARTA ısparta", "istanbul istanbul isparta isparta"),
        ("el", "ΟΔΟΣ οδός", "οδοσ οδόσ"),
        ("ar", "مُحَمَّد محمد مـحـمـد", "محمد محمد محمد"),
        ("he", "שָׁלוֹם שלום", "שלום שלום"),
        ("hi", "हिन्दी में लिखा", "हिन्दी में लिखा"),
        ("en", "so\u00adft zero\u200bwidth e\u0301te\u0301 \ufb01n ＡＢＣ", "soft zerowidth été fin abc"),
        ("fa", "می\u200cخواهم", "میخواهم"),
        ("ja", "東京都は海", "東京 京都 都は は海"),
        ("ja", "海", "海"),
        ("ja", "ｶﾞｽ", "ガス"),
        ("ko", "서울은 큰", "서울 울은 큰"),
        ("th", "กรุงเทพ", "กรุง รุงเ งเท เทพ"),
    ],
)
def test_words_are_found_in_the_language_they_are_written_in(lang: str, text: str, keys: str) -> None:
    assert tokenise(text, lang).keys == keys.split()


@pytest.mark.parametrize(
    ("lang", "text", "key"),
    [
        ("en", "1,000.50", "1000.50"),
        ("en", "1,000", "1000"),
        ("en", "1.000", "1.000"),
        ("en", "3.14", "3.14"),
        ("en", "19:30", "19:30"),
        ("en", "09:30", "9:30"),
        ("en", "2.3.1", "2.3.1"),
        ("en", "1,00,000", "100000"),
        ("en", "0.5", "0.5"),
        ("en", "0", "0"),
        ("en", "-5", "-5"),
        ("en", "−5", "-5"),
        ("en", "½", "1⁄2"),
        ("ca", "1.000,50", "1000.50"),
        ("ca", "1.000", "1000"),
        ("ro", "3,14", "3.14"),
        ("ca", "1,234", "1.234"),
        ("fr", "1\u202f000", "1000"),
        ("fr", "1,234", "1,234"),
        ("de-CH", "1’000", "1000"),
        ("ar", "٣", "3"),
        ("ar", "١٬٠٠٠٫٥", "1000.5"),
        ("ja", "１，０００", "1000"),
        ("ja", "３．１４", "3.14"),
        ("hi", "१९३२", "1932"),
    ],
)
def test_a_number_is_kept_whole_and_has_one_key_where_its_value_is_plain(lang: str, text: str, key: str) -> None:
    assert tokenise(f"x {text} x", lang).keys == ["x", key, "x"]


def test_a_hyphen_between_numbers_or_after_a_word_is_no_minus() -> None:
    assert tokenise("2020-2021, GPT-4, 1932-03-19").keys == ["2020", "2021", "gpt", "4", "1932", "3", "19"]


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b\u00ad", "\u202e", "\u00a0\ufeff"])
def test_what_nobody_can_see_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", "👍", "—", "東"])
def test_what_can_be_seen_is_not_blank(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize("script", SENTENCES)
def test_a_verbatim_copy_scores_one_in_every_script(script: str) -> None:
    lang, sentence = SENTENCES[script]
    others = "\n".join(text for name, (_, text) in SENTENCES.items() if name != script)
    found = look(sentence, others, f"{others}\n{sentence}\n{others}", lang=lang)
    assert found.score == 1
    assert found.missing == ()


@pytest.mark.parametrize("script", SENTENCES)
def test_a_false_year_fails_in_every_script(script: str) -> None:
    lang, sentence = SENTENCES[script]
    false = sentence.translate({ord("3"): "7", ord("٣"): "٧", ord("৩"): "৭", ord("၃"): "၇", ord("༣"): "༧"})
    assert false != sentence
    assert score(false, sentence, lang=lang) < 0.35


@pytest.mark.parametrize("script", SENTENCES)
def test_a_sentence_in_another_script_shares_no_words(script: str) -> None:
    lang, sentence = SENTENCES[script]
    for name, (_, other) in SENTENCES.items():
        if name != script and {name, script} != {"Han", "Kana"}:
            common = set(tokenise(sentence, lang).keys) & set(tokenise(other, lang).keys)
            assert all(key[0].isdigit() for key in common)


@pytest.mark.parametrize(
    ("lang", "affirmed", "denied"),
    [
        ("en", "The API is supported on Windows.", "The API is not supported on Windows."),
        ("en", "The API is supported on Windows.", "The API isn't supported on Windows."),
        ("en", "The drug cures the illness.", "The drug never cures the illness."),
        ("ca", "El pont es va obrir el 1932.", "El pont no es va obrir el 1932."),
        ("fr", "L'API est disponible en France.", "L'API n'est pas disponible en France."),
        ("ro", "Podul este deschis traficului.", "Podul nu este deschis traficului."),
    ],
)
def test_a_negation_on_one_side_only_fails_either_way(lang: str, affirmed: str, denied: str) -> None:
    for claim, passage in ((affirmed, denied), (denied, affirmed)):
        found = look(claim, passage, lang=lang)
        assert found.score < 0.35
        assert found.opposed
        assert look(claim, claim, lang=lang).score == 1


def test_negations_are_known_in_four_languages_only() -> None:
    assert tokenise("La API no es compatible", "es").negated == frozenset()
    assert tokenise("L'API no és compatible", "ca-ES").negated


def test_a_negation_ends_with_its_clause() -> None:
    assert tokenise("No, the bridge is open", "en").negated == frozenset()


def test_different_ways_to_deny_agree() -> None:
    assert score("The API isn't supported.", "The API is not supported.") == 1


def test_a_denial_elsewhere_leaves_an_affirmation_alone() -> None:
    passage = "Linux is not supported by the API. The API is supported on Windows."
    assert score("The API is supported on Windows.", passage) == 1


def test_a_denial_contradicts_only_what_speaks_of_the_same_thing() -> None:
    found = look("Voting shares give their holders a say in board elections", "He never held shares in Norway")
    assert found.opposed == ()
    assert 0 < found.score < 0.35


def test_a_number_that_is_nowhere_in_the_passage_counts_more_than_its_weight() -> None:
    claim = "The old bridge over the harbour opened for traffic in 1932"
    passage = "The old bridge over the harbour opened for traffic in 1923"
    assert look(claim, passage).missing[0] == "1932"
    assert look(claim, passage).score == pytest.approx(0.3 * look(claim, passage, penalty=1.0).score)


def test_words_that_stand_everywhere_weigh_less() -> None:
    passage = "that which that which that which that which that which that which that which that which bridge " * 4
    assert score("which harbour", passage + "quay " * 3) < score("quay harbour", passage + "quay " * 3)


def test_support_must_stand_together() -> None:
    apart = "bridge " + "x " * 300 + "opened " + "y " * 300 + "harbour"
    assert score("bridge opened harbour", apart) == pytest.approx(1 / 3, abs=0.01)
    assert score("bridge opened harbour", "a harbour was opened near the bridge") == 1


def test_missing_words_are_named_as_written_and_the_heaviest_first() -> None:
    found = look("In Norway the Bridge opened in 1932.", "The bridge opened.")
    assert found.missing == ("1932", "Norway", "In", "in")


def test_missing_n_grams_are_named_as_the_stretch_they_make_up() -> None:
    assert look("首都は大阪です", "首都は東京です", lang="ja").missing == ("は大阪で",)


def test_evidence_is_the_shortest_stretch_of_the_text_as_it_was_given() -> None:
    text = "Cafe\u0301 news. " * 30 + "The ﬁrst bridge\u00ad was OPENED in İzmir.  " + "More news. " * 30
    found = look("the first bridge opened in izmir", text)
    assert text[found.start : found.end] == "The ﬁrst bridge\u00ad was OPENED in İzmir"


def test_of_equal_passages_the_first_counts() -> None:
    index, _ = best_overlap(tokenise("a bridge"), [Passage("nothing"), Passage("a bridge"), Passage("a bridge")])
    assert index == 1


def test_a_claim_without_words_can_not_be_looked_for() -> None:
    with pytest.raises(ValueError, match="needs a claim"):
        best_overlap(tokenise("👍"), [Passage("a")])
    with pytest.raises(ValueError, match="needs a claim"):
        best_overlap(tokenise("a"), [])


def test_a_passage_without_words_scores_zero_without_a_window() -> None:
    assert look("a bridge", "👍 —") == Overlap(0.0, 0, 0, ("bridge", "a"))


@given(claim=st.one_of(TEXT, WORDS), passages=st.lists(st.one_of(TEXT, WORDS), min_size=1, max_size=4))
@settings(max_examples=200)
def test_any_text_gives_a_share_and_a_window_inside_the_text(claim: str, passages: list[str]) -> None:
    tokens = tokenise(claim, "en")
    if not tokens.keys:
        return
    ready = [Passage(text, "en") for text in passages]
    index, found = best_overlap(tokens, ready)
    assert 0 <= found.score <= 1
    assert math.isfinite(found.score)
    assert 0 <= found.start <= found.end <= len(passages[index])
    assert (found.start < found.end) == (found.score > 0)
    assert best_overlap(tokens, [Passage(text, "en") for text in passages]) == (index, found)
    window = set(Passage(passages[index][found.start : found.end], "en").tokens.keys)
    assert bool(window & set(tokens.keys)) == (found.score > 0)


@given(text=st.one_of(TEXT, WORDS))
@settings(max_examples=200)
def test_tokens_lie_in_the_text_in_order(text: str) -> None:
    for tokens in (tokenise(text, "en"), Passage(text, "en").tokens):
        assert list(tokens.starts) == sorted(tokens.starts)
        assert list(tokens.places) == sorted(tokens.places)
        assert all(0 <= start < end <= len(text) for start, end in zip(tokens.starts, tokens.ends, strict=True))
        assert all(tokens.keys)
        assert len(tokens.keys) == len(tokens.starts) == len(tokens.ends) == len(tokens.places)


@given(claim=st.one_of(TEXT, WORDS), before=st.one_of(TEXT, WORDS), after=st.one_of(TEXT, WORDS))
@settings(max_examples=200)
def test_a_verbatim_copy_inside_a_passage_scores_one(claim: str, before: str, after: str) -> None:
    if tokenise(claim, "en").keys:
        assert score(claim, f"{before}\n{claim}\n{after}") == 1


@given(claim=WORDS, passages=st.lists(WORDS, min_size=1, max_size=4), further=WORDS)
def test_a_further_passage_never_lowers_a_score(claim: str, passages: list[str], further: str) -> None:
    alone = score(claim, *passages)
    assert score(claim, *passages, further) == max(alone, score(claim, further))


@given(claim=st.one_of(TEXT, WORDS), passage=st.one_of(TEXT, WORDS))
@example(claim="가.A", passage="")
@example(claim="é٣s", passage="")
@settings(max_examples=200)
def test_composed_and_decomposed_text_score_the_same(claim: str, passage: str) -> None:
    composed = unicodedata.normalize("NFC", claim), unicodedata.normalize("NFC", passage)
    decomposed = unicodedata.normalize("NFD", claim), unicodedata.normalize("NFD", passage)
    assert tokenise(composed[0], "en").keys == tokenise(decomposed[0], "en").keys
    if tokenise(composed[0], "en").keys:
        assert score(*composed) == score(*decomposed) == score(composed[0], decomposed[1])


@given(claim=st.one_of(TEXT, WORDS), passage=st.one_of(TEXT, WORDS))
@settings(max_examples=200)
def test_capitals_score_the_same(claim: str, passage: str) -> None:
    assert tokenise(claim.upper(), "en").keys == tokenise(claim.lower(), "en").keys
    if tokenise(claim, "en").keys:
        assert score(claim, passage) == score(claim.upper(), passage) == score(claim, passage.upper())


@given(
    claim=st.lists(st.sampled_from(["bridge", "footbridge", "the", "king", "quay", "1932"]), min_size=1, max_size=12),
    passage=st.lists(
        st.sampled_from(["bridge", "footbridge", "the", "king", "quay", "1932", *(f"filler{n}" for n in range(12))]),
        min_size=1,
        max_size=200,
    ),
)
def test_the_best_window_is_the_best_of_all_windows(claim: list[str], passage: list[str]) -> None:
    """By the definition: a word weighs its breadth times the logarithm of 1 + blocks / blocks it stands in."""
    blocks = len(passage) // BLOCK + 1
    span = math.ceil(max(SHORTEST_WINDOW, 3 * len(claim)) / BLOCK) + 1

    def weight(word: str) -> int:
        often = len({place // BLOCK for place, other in enumerate(passage) if other == word})
        breadth = 12 if word.isdigit() else min(len(word), 6)
        return breadth * round(1000 * math.log(1 + blocks / max(often, 1)))

    wanted = set(claim)
    best = max(
        sum(weight(word) for word in wanted & set(passage[first * BLOCK : (first + span) * BLOCK]))
        for first in range(max(1, blocks - span + 1))
    )
    share = best / sum(weight(word) for word in wanted)
    expected = share * (0.3 if "1932" in wanted and "1932" not in passage else 1)
    assert score(" ".join(claim), " ".join(passage)) == pytest.approx(expected)


def test_a_claim_is_found_in_a_long_text() -> None:
    filler = " ".join(f"word{n % 997} of the {n % 89}" for n in range(20_000))
    text = f"{filler}. Workers opened a harbour bridge near Bergen. {filler}"
    found = look("Workers opened a harbour bridge near Bergen.", filler, text)
    assert found.score == 1
    assert text[found.start : found.end] == "Workers opened a harbour bridge near Bergen"
