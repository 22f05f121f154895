"""How many tokens a text is likely to be, without any model's tokenizer: for plans, limits and windows."""

__all__ = ["estimate_tokens"]

_LATIN_CHARACTERS = 4
"""ASCII characters a token, in prose."""
_OTHER_BYTES = 3
"""UTF-8 bytes a token of everything else: an accented letter is most of a token, an ideograph one."""


def estimate_tokens(text: str) -> int:
    """Tokens of a text: within a third for prose in most languages; code and digits are more than that."""
    if text.isascii():
        return len(text) // _LATIN_CHARACTERS + 1
    size = len(text.encode("utf-8", "surrogatepass"))
    ascii_count = len(text.encode("ascii", "ignore"))
    return ascii_count // _LATIN_CHARACTERS + (size - ascii_count) // _OTHER_BYTES + 1
