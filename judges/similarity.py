"""How much of one text's content is found in another: tokens, their weights, and the best window of a passage.

Tokens follow the word boundaries of UAX #29, with these differences, each for the sake of comparing texts: words are
split at apostrophes, hyphens and underscores (`l'API` is `l`, `api`); single letters with dots between are one word
(`U.S.` is `us`); a number is split from the letters after it (`5kg`); scripts whose words carry no space, or carry
their particles without one, become overlapping character n-grams. What a character is, only `unicodedata` is asked.

Source:
    Word boundaries: Unicode Standard Annex #29, https://unicode.org/reports/tr29/
    Normalisation and case folding: NFKC_Casefold, Unicode Standard, section 3.13.
"""

import math
import re
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise, repeat
from operator import mul
from typing import Final, NamedTuple

__all__ = ["VERSION", "Overlap", "Passage", "Tokens", "best_overlap", "is_blank", "tokenise"]

VERSION: Final = f"2/unicode-{unicodedata.unidata_version}"
"""Changes whenever tokens or weights may change: our rules, and the Unicode tables of this Python."""

BLOCK: Final = 10
"""Places of a block. Windows begin at blocks, and a word's frequency is the number of blocks it stands in."""
MANY: Final = 10_000
"""Tokens from which memory counts more than time."""
SAME: Final = 0.5
"""Share of a claim that a window must hold to be about the same thing, so that a negation contradicts it."""
_DEMOTED: Final = 8
"""How many times as much a word weighs that isn't granted."""
SHORTEST_WINDOW: Final = 20
"""Places. What a short claim says may be spread over a sentence."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one text, in the order in which they start."""

    text: str
    keys: list[str]
    """What is compared: normalised, case-folded, free of invisible characters."""
    starts: Sequence[int]
    """First character of each token, in the text as it was given."""
    ends: Sequence[int]
    places: Sequence[int]
    """Where each token stands, in words, or in letters of an unspaced script: the same in every normalisation form."""
    length: int
    """Number of places."""
    negated: frozenset[int]
    """Indices of the tokens in the scope of a negation."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """How well one passage covers a claim."""

    score: float
    """0 to 1: the share of the claim's weight that the best window holds, less the penalties."""
    start: int
    """The best window, in characters of the passage's text; empty when nothing was found."""
    end: int
    missing: tuple[str, ...] = ()
    """The claim's words that the window lacks, as they were written, heaviest first."""
    opposed: tuple[str, ...] = ()
    """The claim's words that are negated on one side only."""
    absent: tuple[str, ...] = ()
    """The claim's numbers that are nowhere in the passage."""
    share: float = 0.0
    """The score before the penalties."""


class Passage:
    """A text to look in, made ready once for any number of claims."""

    __slots__ = ("affirmed", "blocks", "denied", "rarest", "rarity", "size", "tokens")

    def __init__(self, text: str, lang: str | None = None) -> None:
        self.tokens = tokens = _scan(text, lang, every_order=True)
        self.size = tokens.length // BLOCK + 1
        """Number of blocks."""
        self.blocks = blocks = dict[str, list[int]]()
        """In which blocks each key stands."""
        borders: Iterable[int] = range(0, self.size * BLOCK, BLOCK)
        if tokens.length != len(tokens.keys):
            borders = [bisect_left(tokens.places, border) for border in borders]
        for block, (low, high) in enumerate(pairwise([*borders, len(tokens.keys)])):
            for key in set(tokens.keys[low:high]):
                if key in blocks:
                    blocks[key].append(block)
                else:
                    blocks[key] = [block]
        self.denied: dict[str, list[int]] = {}
        """And where it stands negated."""
        self.affirmed: dict[str, list[int]] = {}
        """And where it doesn't, for the keys that do elsewhere."""
        if tokens.negated:
            denied = {tokens.keys[index] for index in tokens.negated}
            for index, key in enumerate(tokens.keys):
                if key in denied:
                    stands = self.denied if index in tokens.negated else self.affirmed
                    stands.setdefault(key, []).append(tokens.places[index] // BLOCK)
        rarities = _rarities(self.size)
        self.rarity: Mapping[str, int] = {key: rarities[len(known)] for key, known in blocks.items()}
        self.rarest = rarities[1]
        """Rarity of a key that stands in one block, and of one that isn't there."""


def tokenise(text: str, lang: str | None = None) -> Tokens:
    """The tokens of `text`.

    Args:
        text: Any text, in any normalisation form.
        lang: A BCP 47 tag. It decides the negations that are known (English, Catalan, French, Romanian) and which of
            comma and point groups thousands; all else is the same in every language.
    """
    return _scan(text, lang, every_order=False)


def is_blank(text: str) -> bool:
    """Whether nothing of `text` can be seen."""
    invisible = {"Cc", "Cf", "Zs", "Zl", "Zp"}
    return not text.strip() or all(unicodedata.category(character) in invisible for character in set(text))


# --- overlap ---------------------------------------------------------------------------------------------------------


class _Wanted(NamedTuple):
    """A claim, made ready to be looked for: its distinct keys, in the order in which they first occur."""

    tokens: Tokens
    keys: Sequence[str]
    breadths: Sequence[int]
    weights: Sequence[int]
    """By key, before its rarity: the breadth, or less of it for what is granted."""
    numbers: Sequence[str]
    """The keys that are numbers, and not granted."""


class _Found(NamedTuple):
    """The best window of a passage."""

    score: float
    first: int = 0
    """Its first block."""
    last: int = -1
    opposed: frozenset[str] = frozenset()
    """Keys it holds with the opposite polarity only."""


def best_overlap(
    claim: Tokens,
    passages: Sequence[Passage],
    *,
    window: float = 3.0,
    penalty: float = 0.3,
    granted: AbstractSet[str] = frozenset(),
) -> tuple[int, Overlap]:
    """Where the claim is covered best: the index of the passage, and how well its best window does.

    The window that holds most of the claim decides for a passage, and the best passage for the claim; of equal ones
    the first. A passage is scored by itself, so a further one never lowers the score.

    Args:
        claim: What is looked for; it has a token at least.
        passages: Where; one at least.
        window: Length of a window, in lengths of the claim; 20 words at least, in whole blocks.
        penalty: What the share is multiplied by when a number is nowhere in the passage, and once more when a content
            word of the claim stands in the window with the opposite polarity only.
        granted: Keys that prove little, found or not: what was asked says them already. Each weighs an eighth, and a
            number among them may be absent.

    Source:
        Words of the question are granted as in Mohler, Bunescu & Mihalcea 2011, Learning to Grade Short Answer
        Questions (ACL), who leave them out ("question demoting"). An eighth is left here for what is chosen among
        things that the question names.

    Raises:
        ValueError: The claim has no token, or there is no passage.
    """
    if not claim.keys or not passages:
        raise ValueError("an overlap needs a claim with a token and a passage")
    keys = list(dict.fromkeys(claim.keys))
    breadths = list(map(_breadth, keys))
    numbers = [key for key, breadth in zip(keys, breadths, strict=True) if breadth == NUMBER and key not in granted]
    weights = breadths
    if granted and not granted.isdisjoint(keys):
        weights = [breadth * (1 if key in granted else _DEMOTED) for key, breadth in zip(keys, breadths, strict=True)]
    wanted = _Wanted(claim, keys, breadths, weights, numbers)
    span = math.ceil(max(SHORTEST_WINDOW, window * claim.length) / BLOCK) + 1
    bounds = sorted((-_bound(wanted, passage, penalty), index) for index, passage in enumerate(passages))
    best, chosen = _Found(-1.0), -1
    for bound, index in bounds:
        if (bound, index) > (-best.score, chosen):
            break  # nor can those that follow be better
        found = _search(wanted, passages[index], span, penalty, -bound)
        if (-found.score, index) < (-best.score, chosen):
            best, chosen = found, index
    return chosen, _explain(wanted, passages[chosen], best, penalty)


def _bound(wanted: _Wanted, passage: Passage, penalty: float) -> float:
    """What a window as long as the passage would score, polarity aside: no window scores more."""
    rarity = passage.rarity
    held: int = sum(map(mul, wanted.weights, map(rarity.get, wanted.keys, repeat(0))))
    if not held:
        return 0.0
    total: int = sum(map(mul, wanted.weights, map(rarity.get, wanted.keys, repeat(passage.rarest))))
    return held / total * _factor(wanted, passage, penalty)


def _factor(wanted: _Wanted, passage: Passage, penalty: float) -> float:
    """The penalty, when a number is nowhere in the passage."""
    return 1.0 if all(number in passage.rarity for number in wanted.numbers) else penalty


def _search(wanted: _Wanted, passage: Passage, span: int, penalty: float, bound: float) -> _Found:
    """The window of `span` blocks that holds most; of equal ones the first that opposes nothing, else the first."""
    if not bound:
        return _Found(0.0)
    factor = _factor(wanted, passage, penalty)
    windows = max(1, passage.size - span + 1)
    score = bound
    candidates: Iterable[int] = (0,)
    if windows > 1:
        held = list(accumulate(_changes(wanted, passage, span)[:windows]))
        most = max(held)
        total: int = sum(map(mul, wanted.weights, map(passage.rarity.get, wanted.keys, repeat(passage.rarest))))
        score = most / total * factor
        candidates = (window for window, weight in enumerate(held) if weight == most)
    opposed: dict[int, frozenset[str]] = {}
    for window in candidates:
        opposed[window] = frozenset() if score < SAME * factor else _opposed(wanted, passage, window, window + span)
        if not opposed[window]:
            return _Found(score, window, window + span - 1)
    first = min(opposed)
    return _Found(score * penalty, first, first + span - 1, opposed[first])


def _changes(wanted: _Wanted, passage: Passage, span: int) -> list[int]:
    """By how much the weight held by the window that begins at a block differs from that of the window before."""
    changes = [0] * (passage.size + 1)
    for key, before_rarity in zip(wanted.keys, wanted.weights, strict=True):
        blocks = passage.blocks.get(key)
        if blocks is None:
            continue
        weight = before_rarity * passage.rarity[key]
        begin = blocks[0] - span + 1
        changes[max(0, begin)] += weight
        after = blocks[0] + 1  # the first window not yet known to hold the key
        for block in blocks:
            begin = block - span + 1
            if begin > after:
                changes[after] -= weight
                changes[begin] += weight
            after = block + 1
        changes[after] -= weight
    return changes


def _opposed(wanted: _Wanted, passage: Passage, begin: int, end: int) -> frozenset[str]:
    """The claim's content words that stand in these blocks with the opposite polarity only."""
    if not passage.denied and not wanted.tokens.negated:
        return frozenset()
    negated = {wanted.tokens.keys[index] for index in wanted.tokens.negated}
    plain = {key for index, key in enumerate(wanted.tokens.keys) if index not in wanted.tokens.negated}
    against: set[str] = set()
    for key, breadth in zip(wanted.keys, wanted.breadths, strict=True):
        if breadth < CONTENT or (key in negated and key in plain):
            continue
        denied = passage.denied.get(key, ())
        affirmed = passage.affirmed.get(key, ()) if denied else passage.blocks.get(key, ())
        alike, unlike = (denied, affirmed) if key in negated else (affirmed, denied)
        if _any_within(unlike, begin, end) and not _any_within(alike, begin, end):
            against.add(key)
    return frozenset(against)


def _any_within(blocks: Sequence[int], begin: int, end: int) -> bool:
    at = bisect_left(blocks, begin)
    return at < len(blocks) and blocks[at] < end


def _explain(wanted: _Wanted, passage: Passage, found: _Found, penalty: float) -> Overlap:
    """Names the words behind a score, and the stretch of the passage."""
    start, end, held = _narrow(wanted, passage, found)
    tokens = wanted.tokens
    weights = dict(zip(wanted.keys, wanted.weights, strict=True))
    missing: list[list[int]] = []  # weight, start, end
    opposed: dict[str, None] = {}
    absent: dict[str, None] = {}
    for key, first, last in zip(tokens.keys, tokens.starts, tokens.ends, strict=True):
        if key in found.opposed:
            opposed[tokens.text[first:last]] = None
        if key in wanted.numbers and key not in passage.rarity:
            absent[tokens.text[first:last]] = None
        if key in held:
            continue
        weight = weights[key] * passage.rarity.get(key, passage.rarest)
        if missing and first < missing[-1][2]:  # n-grams of one word overlap: name the stretch they make up
            missing[-1][0] += weight
            missing[-1][2] = last
        else:
            missing.append([weight, first, last])
    missing.sort(key=lambda stretch: -stretch[0])
    words = dict.fromkeys(tokens.text[first:last] for _, first, last in missing)
    share = found.score / penalty ** (bool(opposed) + bool(absent))
    return Overlap(found.score, start, end, tuple(words), tuple(opposed), tuple(absent), min(share, 1.0))


def _narrow(wanted: _Wanted, passage: Passage, found: _Found) -> tuple[int, int, AbstractSet[str]]:
    """The shortest stretch at the window's beginning that holds all the window does, and which keys those are."""
    tokens = passage.tokens
    low = bisect_left(tokens.places, found.first * BLOCK)
    high = bisect_left(tokens.places, (found.last + 1) * BLOCK)
    keys = tokens.keys[low:high]
    held = set(keys).intersection(wanted.keys)
    if not held:
        return 0, 0, held
    right = max(map(keys.index, held))
    backwards = keys[right::-1]
    left = right - max(map(backwards.index, held))
    return tokens.starts[low + left], max(tokens.ends[low + left : low + right + 1]), held


# --- weights ---------------------------------------------------------------------------------------------------------

CONTENT: Final = 4
"""Breadth from which a word is taken to carry content."""
LONG: Final = 6
"""Breadth of a long word. Beyond it length tells little more."""
NUMBER: Final = 2 * LONG


@lru_cache(maxsize=1 << 15)
def _breadth(key: str) -> int:
    """Weight of a key before its rarity: a number weighs twice a long word, a word of one letter a sixth of it.

    The more frequent a word, the shorter it is, in all languages that were looked at: so length stands in for the lists
    of stop words we don't have, where a passage is too short for frequencies.

    Source:
        Zipf 1935, The Psycho-Biology of Language. Bentz & Ferrer-i-Cancho 2016, Zipf's law of abbreviation as a
        language universal (about 1,000 languages).
    """
    if _is_number(key):
        return NUMBER
    if _SHAPES[ord(key[0])] in "CT$":
        return LONG
    return min(len(key), LONG)


@lru_cache(maxsize=128)
def _rarities(blocks: int) -> Sequence[int]:
    """Inverse frequency in thousandths, by frequency. Whole numbers, so that sums don't depend on their order."""
    return [round(1000 * math.log(1 + blocks / max(frequency, 1))) for frequency in range(blocks + 1)]


def _is_number(key: str) -> bool:
    return key[0].isdigit() or key[0] == "-"


# --- tokens ----------------------------------------------------------------------------------------------------------


class _Shapes(dict[int, str]):
    """What stands for a character where words are looked for; filled as characters are met.

    A letter stands as its own folded form, so that most words can be read off; all else as a mark of what it is:

        0 to 9  a digit               A  a letter that doesn't fold to one letter
        M I     combining, invisible  C T  a letter of an unspaced script
        O $ %   other number, sign    J  a dot within a word
        . , ; : ' S -                 what may stand in a number
        !       what ends a clause    space  anything else
    """

    def __missing__(self, point: int) -> str:
        self[point] = shape = _shape(chr(point))
        return shape


_UNSPACED = {
    "C": (
        "CJK ",
        "IDEOGRAPHIC ",
        "HIRAGANA",
        "KATAKANA",
        "HALFWIDTH KATAKANA",
        "BOPOMOFO",
        "HANGUL ",
        "HALFWIDTH HANGUL ",
    ),
    "T": ("THAI ", "LAO ", "KHMER ", "MYANMAR ", "TAI ", "NEW TAI ", "JAVANESE ", "BALINESE "),
}
"""Scripts, by the beginning of their letters' names, that are compared by n-grams: of 2 letters where a letter is a
syllable or more, else of 3. Korean is written with spaces, but particles stick to its nouns, and bigrams are what
retrieval uses there (Lee & Ahn 1996, Using n-grams for Korean text retrieval, SIGIR)."""

_GRAM: Final = {"C": 2, "T": 3}

_SINGLE = {
    ".": ".．٫",
    ",": ",",
    ";": "，",  # full width: a comma between clauses, unless three digits follow
    ":": ":：",
    "'": "'’‘ʼʻ＇׳٬",
    "S": "\u00a0\u202f\u2009",
    "-": "-−－﹣",
    "%": "%‰٪％",
    "J": "·\u0387",
    "I": "\u200b\u115f\u1160\u3164\uffa0",
    "M": "\uff9e\uff9f",
    "!": "\n\r\x0b\x0c\x85\u2028\u2029–—",
    " ": '"*״＂＊_',
}
_BY_CHARACTER = {character: shape for shape, characters in _SINGLE.items() for character in characters}
_BY_CATEGORY = {"Cf": "I", "Sc": "$", "Po": "!", "Ps": "!", "Pe": "!"}


def _shape(character: str) -> str:
    if shape := _BY_CHARACTER.get(character):
        return shape
    category = unicodedata.category(character)
    name = unicodedata.name(character, "")
    if category[0] == "L" or name.startswith("IDEOGRAPHIC NUMBER"):
        for shape, beginnings in _UNSPACED.items():
            if name.startswith(beginnings):
                # the later letters of a decomposed Hangul syllable belong to its first
                return "M" if name.startswith(("HANGUL JUNGSEONG", "HANGUL JONGSEONG")) else shape
        folded = _fold_forms(character)
        return folded if len(folded) == 1 and unicodedata.category(folded)[0] == "L" else "A"
    if category == "Nd":
        return str(unicodedata.decimal(character))
    return {"M": "M", "N": "O"}.get(category[0]) or _BY_CATEGORY.get(category, " ")


_SHAPES = _Shapes()

_TOKEN = re.compile(
    r"([^CIJMOST0-9 .,:;'!$%-][^COST .,:;'!$%-]*"  # word, h2o, col·lecció
    r"|[0-9][0-9I]*(?:[.,:'][0-9]+|[S;](?=[0-9]{3}(?![0-9]))[0-9]+)*"
    r"|C[CMI]*|T[TMI]*|[O%$])"
)
_BEFORE_SIGN = frozenset(["", " ", "!", "$", "'", "S"])
"""What may come before a minus; after anything else it is a hyphen."""
_UNIT = re.compile("[CT][MI]*")
_CUT = re.compile("[.,:;!]")

_NEGATIONS: Mapping[str, frozenset[str]] = {
    "en": frozenset(["not", "no", "never", "none", "nobody", "nothing", "neither", "nor", "without", "cannot"]),
    "ca": frozenset(["no", "mai", "res", "ningú", "ningu", "sense", "ni", "tampoc"]),
    "fr": frozenset(["ne", "n", "pas", "jamais", "aucun", "aucune", "rien", "sans", "ni", "non"]),
    "ro": frozenset(
        ["nu", "n", "niciodată", "niciodata", "nici", "niciun", "nicio", "nimic", "nimeni", "fără", "fara"]
    ),
}
_SCOPE: Final = 3
"""Words after a negation that it is taken to negate, within the clause."""
_CONTRACTED = {"can": "can", "won": "will", "shan": "shall"}


def _scan(text: str, lang: str | None, *, every_order: bool) -> Tokens:
    """The tokens of `text`; with `every_order`, the shorter n-grams too, so that a word of one letter is found.

    What stands between tokens and the tokens alternate in what `split` gives back, and their lengths add up to where
    each token stands: one call for the text, where a call for each token would take most of the time.
    """
    base = (lang or "").replace("_", "-").partition("-")[0].lower()
    shapes = text.translate(_SHAPES)
    pieces = _TOKEN.split(shapes)
    edges = list(accumulate(map(len, pieces)))
    columns = _Columns(pieces[1::2], edges[:-1:2], edges[1::2])
    places, length = _mend(text, shapes, base, columns, every_order=every_order)
    keys, starts, ends = columns
    negated = frozenset[int]()
    negations = _NEGATIONS.get(base)
    if negations is not None and not negations.isdisjoint(keys):
        negated = _find_negated(shapes, keys, starts, ends, negations)
    if len(keys) > MANY:
        return Tokens(text, keys, array("I", starts), array("I", ends), places, length, negated)
    return Tokens(text, keys, starts, ends, places, length, negated)


class _Columns(NamedTuple):
    keys: list[str]
    starts: list[int]
    ends: list[int]


def _mend(text: str, shapes: str, base: str, columns: _Columns, *, every_order: bool) -> tuple[Sequence[int], int]:
    """Gives their key to tokens that aren't plain words, joins what belongs together, takes runs of n-grams apart.

    Returns:
        The place of each token, and the number of places.
    """
    keys, starts, ends = columns
    grouping = _grouping(base)
    head = -1  # the token that letters with dots between are joined to
    runs: set[int] = set()  # of unspaced scripts
    dropped: set[int] = set()
    for index in [at for at, key in enumerate(keys) if len(key) < 2 or not key.islower()]:
        key, start, end = keys[index], starts[index], ends[index]
        kind = key[0]
        if kind in "CT":
            runs.add(index)
            continue
        if kind.isdigit():
            if shapes[start - 1 : start] == "-" and shapes[start - 2 : start - 1] in _BEFORE_SIGN:
                starts[index] = start = start - 1
            keys[index] = _fold_number(text[start:end], grouping)
            continue
        if not key.islower():
            keys[index] = key = _fold(text[start:end])
            if not key:
                dropped.add(index)
                continue
        if len(key) > 1 or not index or not key.isalpha() or index - 1 in runs:
            continue
        before, apart = keys[index - 1], shapes[ends[index - 1] : start]
        if apart == "." and (head == index - 1 or (len(before) == 1 and before.isalpha())):
            keys[index] = before + key  # U.S. is us
            starts[index] = starts[index - 1]
            dropped.add(index - 1)
            head = index
        elif key == "s" and apart in {"", "'"} and _is_number(before):
            keys[index] = before + key  # 1930s
            starts[index] = starts[index - 1]
            dropped.add(index - 1)
        elif key == "t" and apart == "'" and base == "en" and before[-1] == "n":
            keys[index - 1] = _CONTRACTED.get(before, before[:-1] or before)  # isn't is is, not
            keys[index] = "not"
    if not runs and not dropped:
        return range(len(keys)), len(keys)
    mended = _Columns([], [], [])
    places = array("I")
    length = 0
    for index, (key, start, end) in enumerate(zip(keys, starts, ends, strict=True)):
        if index in runs:
            order = _GRAM[key[0]]
            length = _add_grams(text, shapes, start, end, order, mended, places, length, every_order=every_order)
        elif index not in dropped:
            mended.keys.append(key)
            mended.starts.append(start)
            mended.ends.append(end)
            places.append(length)
            length += 1
    keys[:], starts[:], ends[:] = mended
    return places, length


def _find_negated(
    shapes: str, keys: Sequence[str], starts: Sequence[int], ends: Sequence[int], negations: AbstractSet[str]
) -> frozenset[int]:
    """The tokens in the scope of a negation: a few words after it, within the clause."""
    negated: set[int] = set()
    for index, key in enumerate(keys):
        if key not in negations or (key == "n" and shapes[ends[index] : ends[index] + 1] not in {"'", "-"}):
            continue
        for further in range(index + 1, min(index + 1 + _SCOPE, len(keys))):
            if _CUT.search(shapes, ends[further - 1], starts[further]) or shapes[starts[further]] in _GRAM:
                break  # another clause, or a script none of these languages is written in
            negated.add(further)
    return frozenset(negated)


def _add_grams(
    text: str,
    shapes: str,
    start: int,
    end: int,
    order: int,
    columns: _Columns,
    places: "array[int]",
    place: int,
    *,
    every_order: bool,
) -> int:
    """Adds the n-grams of one run of an unspaced script, and returns the place after it.

    A letter goes with its marks. A run shorter than the order is one token.
    """
    letters: list[str] = []
    firsts: list[int] = []
    ends: list[int] = []
    for unit in _UNIT.finditer(shapes, start, end):
        first, last = unit.span()
        if letter := _fold(text[first:last]):
            letters.append(letter)
            firsts.append(first)
            ends.append(last)
    size = len(letters)
    for at in range(size):
        longest = min(order, size - at)
        if every_order:
            lengths = range(1, longest + 1)
        elif at and longest < order:
            break
        else:
            lengths = range(longest, longest + 1)
        for length in lengths:
            columns.keys.append(letters[at] if length == 1 else "".join(letters[at : at + length]))
            columns.starts.append(firsts[at])
            columns.ends.append(ends[at + length - 1])
            places.append(place + at)
    return place + size


@lru_cache(maxsize=1 << 16)
def _fold(raw: str) -> str:
    """The key of a word, or of one letter: forms, cases and spellings that read the same give the same key.

    On top of NFKC_Casefold: Turkish dotless i is i, as its capital is I; Romanian cedillas are commas below; Arabic
    vowel signs, the stretching of letters and Hebrew points go, since a text may or may not write them. A digit is its
    value, in whatever script.
    """
    written = "".join(filter(_is_written, _fold_forms(raw))).strip(" ·")
    return written if written.isascii() else "".join(map(_digit, written))


def _digit(character: str) -> str:
    return str(unicodedata.decimal(character)) if character.isdecimal() else character


_SPELLINGS = str.maketrans({"ı": "i", "ş": "ș", "ţ": "ț"})


def _fold_forms(raw: str) -> str:
    folded = unicodedata.normalize("NFD", raw)
    for _ in range(2):
        folded = unicodedata.normalize("NFKC", folded.casefold())
    return unicodedata.normalize("NFC", folded.replace("i\u0307", "i").translate(_SPELLINGS))


def _is_written(character: str) -> bool:
    return not (
        "\u0591" <= character <= "\u05c7"
        or "\u064b" <= character <= "\u0652"
        or character in "\u0640\u0670\u034f"
        or "\ufe00" <= character <= "\ufe0f"
        or _SHAPES[ord(character)] == "I"
    )


_COMMA_GROUPS = frozenset(["en", "zh", "ja", "ko", "th", "he", "hi", "bn", "ta", "te", "ur", "ms", "fil", "sw"])
_POINT_GROUPS = frozenset(["ca", "ro", "de", "es", "it", "nl", "pt", "da", "el", "tr", "id", "hr", "sr", "sl"])


def _grouping(base: str) -> str:
    """What groups thousands in a language (Unicode CLDR, number symbols); empty when that isn't known here."""
    return "," if base in _COMMA_GROUPS else "." if base in _POINT_GROUPS else ""


@lru_cache(maxsize=1 << 14)
def _fold_number(raw: str, grouping: str) -> str:
    """The key of a number: its value where the way it is written leaves no doubt, else as it is written."""
    body = "".join(map(_figure, raw))
    sign = "-" if body[0] == "-" else ""
    body = re.sub(r"'(?=\d{3}(?!\d))", "", body[len(sign) :])
    if re.fullmatch(r"\d{1,3}(,\d{2,3})*,\d{3}\.\d+|\d{1,3}(,\d{3}){2,}|\d{1,2}(,\d\d)+,\d{3}", body):
        body = body.replace(",", "")  # 1,000.50 and 1,000,000 and 1,00,000
    elif re.fullmatch(r"\d{1,3}(\.\d{3})+,\d+|\d{1,3}(\.\d{3}){2,}", body):
        body = body.replace(".", "").replace(",", ".")  # 1.000,50 and 1.000.000
    elif grouping and re.fullmatch(rf"[1-9]\d{{0,2}}{re.escape(grouping)}\d{{3}}", body):
        body = body.replace(grouping, "")
    elif re.fullmatch(r"\d+,\d+", body) and (grouping == "." or not re.fullmatch(r"\d{1,3},\d{3}", body)):
        body = body.replace(",", ".")
    return sign + re.sub(r"^0+(?=\d)", "", body)


def _figure(character: str) -> str:
    shape = _SHAPES[ord(character)]
    return {"S": "'", "I": "", "M": "", ";": ","}.get(shape, shape)
