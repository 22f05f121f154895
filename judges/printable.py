"""Text that a terminal shows as it is. Text of cases, labels and judges is hostile: it could move the cursor, change
colours or turn the line around.
"""

import unicodedata

__all__ = ["TURNS_TEXT", "printable"]

TURNS_TEXT = frozenset("\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
"""Characters that change the direction of text, break the line, or hide."""


def printable(text: str, width: int | None = None) -> str:
    """`text` as one line that a terminal shows as it is: white space folded, control characters written out.

    Args:
        text: Any text.
        width: Cut to so many characters, the last of them an ellipsis.
    """
    line = " ".join(text.split() if width is None else text[: 8 * width].split())
    if not (line.isascii() and line.isprintable()):
        line = "".join(_visible(character) for character in line)
    if width is None or (len(line) <= width and len(text) <= 8 * width):
        return line
    return line[: width - 1].rstrip() + "…"


def _visible(character: str) -> str:
    if character in TURNS_TEXT or unicodedata.category(character) in ("Cc", "Cs", "Cn", "Co"):
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return character
