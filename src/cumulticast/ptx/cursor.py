"""A place in the tokens, and the few questions that every part of the parser asks there."""

from __future__ import annotations

from typing import NoReturn

from .errors import PtxError
from .lexer import Tokens


class Cursor:
    """Walks over tokens from left to right.

    Attributes
    ----------
    texts, kinds
        The columns of the tokens.
    at
        The token that comes next.
    """

    __slots__ = ("at", "kinds", "texts", "tokens")

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.texts = tokens.texts
        self.kinds = tokens.kinds
        self.at = 0

    @property
    def text(self) -> str:
        """What comes next."""
        return self.texts[self.at]

    @property
    def kind(self) -> str:
        """The kind of what comes next."""
        return self.kinds[self.at]

    @property
    def line(self) -> int:
        """The line of what comes next."""
        return self.tokens.line(self.at)

    def take(self, text: str) -> bool:
        """Step over a token if it is this one; tell whether it was."""
        if self.texts[self.at] != text or self.kinds[self.at] == "string":
            return False
        self.at += 1
        return True

    def expect(self, text: str) -> None:
        """Step over this token.

        Raises
        ------
        PtxError
            218 when another one stands there.
        """
        if not self.take(text):
            self.wrong(repr(text))

    def next_of(self, kind: str, wanted: str) -> str:
        """Step over a token of this kind and give its text; ``wanted`` says in words what was expected."""
        if self.kinds[self.at] != kind:
            self.wrong(wanted)
        self.at += 1
        return self.texts[self.at - 1]

    def name(self) -> str:
        """Step over an identifier and give it; ``_`` names nothing."""
        if self.text == "_":
            self.wrong("a name")
        return self.next_of("word", "a name")

    def find(self, text: str) -> bool:
        """Tell whether this token still comes."""
        try:
            return self.texts.index(text, self.at) >= 0
        except ValueError:
            return False

    def skip_past(self, text: str) -> None:
        """Go behind the next token that is this one."""
        if not self.find(text):
            self.at = len(self.texts) - 1
            self.wrong(repr(text))
        self.at = self.texts.index(text, self.at) + 1

    def wrong(self, wanted: str) -> NoReturn:
        """Raise the error that says what stands here, and what was expected."""
        found = "the end of the text" if self.kind == "end" else repr(shorten(self.text))
        self.fail(f"syntax error near {found}: expected {wanted}")

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        """Raise a PtxError (218) at the line of a token, by default of the next one."""
        raise PtxError(reason, self.tokens.line(self.at if at is None else at))


def shorten(text: str, length: int = 60) -> str:
    """Cut what is quoted in a message."""
    return text if len(text) <= length else text[: length - 1] + "…"
