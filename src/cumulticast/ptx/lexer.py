"""PTX text to tokens: one compiled expression walks the text once.

Comments and white space separate tokens. The contents of ``.section`` (debug information) make one token, because no
instruction refers to them. Lines are counted only when asked for.
Source: PTX ISA, chapter "Syntax" (source format, comments, identifiers, constants).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""
    # no token: space, comments, lines of a preprocessor ("# 1 file")
    (?: \s++ | //[^\n]*+ | /\*(?:[^*]++|\*(?!/))*+\*/ | (?<![^\n])\#[^\n]*+ )*+
    (?:
      (?P<word>    [A-Za-z][\w$]*+ | [_$%][\w$]*+ )
    | (?P<section> \.section\s++[\w.$]++\s*+\{ (?: [^}"/]++ | "[^"\n]*+" | //[^\n]*+ | / )*+ (?:\}|\Z) )
    | (?P<dotted>  \.[A-Za-z_]\w*+(?:::\w++)*+ | \.\d++[A-Za-z]\w*+(?:::\w++)*+(?<!\d[eE]\d) )
    | (?P<number>  0[fF][0-9A-Fa-f]{8}(?!\w) | 0[dD][0-9A-Fa-f]{16}(?!\w) | 0[xX][0-9A-Fa-f]++U?(?!\w)
                 | (?: \d++\.\d*+ | \.\d++ )(?:[eE][+-]?\d++)?(?!\w) | \d++[eE][+-]?\d++(?!\w)
                 | 0[bB][01]++U?(?!\w) | \d++U?(?!\w) )
    | (?P<string>  "(?:[^"\\\n]++|\\[^\n])*+" )
    | (?P<open>    /\* | " )        # a comment or a string without end
    | (?P<mark>    <<|>>|<=|>=|==|!=|&&|\|\||[][(){}<>,;:@!+\-*/%&|^~?=] )
    | (?P<end>     \Z )
    | (?P<bad>     . )
    )
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)

_LAST = ("end", "bad", "open")
_NEWLINE = re.compile("\n")


@dataclass(slots=True)
class Tokens:
    """The tokens of one text, as columns; the last one is the end, with an empty text.

    Attributes
    ----------
    texts
        What stands there.
    kinds
        word, section, dotted, number, string, mark, end or bad.
    starts
        Where it stands, in characters from the beginning.
    """

    texts: list[str]
    kinds: list[str]
    starts: list[int]
    newlines: list[int] = field(default_factory=list[int])

    def line(self, at: int) -> int:
        """Tell the 1-based line of a token."""
        return bisect_right(self.newlines, self.starts[at]) + 1


def tokenize(text: str) -> Tokens:
    """Cut a text into tokens. What is none becomes a ``bad`` one, the last before the end: the parser names it."""
    texts: list[str] = []
    kinds: list[str] = []
    starts: list[int] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "end"
        texts.append(match[kind])
        kinds.append(kind if kind != "open" else "bad")
        starts.append(match.start(kind))
        if kind in _LAST:
            break
    if kinds[-1] != "end":
        texts.append("")
        kinds.append("end")
        starts.append(len(text))
    return Tokens(texts, kinds, starts, [found.start() for found in _NEWLINE.finditer(text)])
