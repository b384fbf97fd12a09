"""A rule of the book, how it is registered, and how it is found.

A rule is a small function that is handed the plain facts of a call and returns the reason why they break the
rule, or None. The decorator `rule` turns it into a `Rule`: the one record behind enforcement, log line,
exception note, ``cumulticast rules``, the documentation and the coverage test.

    >>> from cumulticast.rules import binding >>> reason = binding.size_granularity.check(3 << 20, 2 << 20)
    >>> binding.size_granularity.describe("cuMulticastBindMem", reason) 'MC304 multicast_bind_mem: size
    3145728 is not a multiple of 2097152 (2 MiB); nearest 2097152 or 4194304. \
More: cumulticast rules MC304'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import cleandoc
from typing import Generic, Literal, ParamSpec

from .source import Source
from .status import Status
from .text import python_name

P = ParamSpec("P")

Kind = Literal["error", "blocks", "undefined", "advice", "limit"]
Evidence = Literal["documented", "recorded", "kernel-module", "assumed"]
Held = Literal["always", "strict", "hardware"]

EVERY_CALL = ("*",)  # the rule governs all entry points of the driver


@dataclass(frozen=True, slots=True)
class Rule(Generic[P]):
    """One documented or observed demand of the driver, with its check.

    Attributes
    ----------
    code
        ``MC304``; never reused.
    title
        The demand in one line.
    kind
        ``error`` (refused), ``limit`` (refused because something is used up or not ready), ``blocks`` (the
        call waits), ``undefined`` (the documents promise nothing: a finding, and a refusal where a status is
        given and the rule is held), ``advice`` (legal, but slow, wasteful or suspicious: a finding only).
    calls
        C names of the entry points it governs; ``("*",)`` is all of them.
    status
        The answer to a call that breaks it; None where no call is refused.
    evidence
        What vouches for the *status*: ``documented`` (a sentence names it), ``recorded`` (a real driver
        answered it), ``kernel-module`` (the open kernel driver refuses so, and this is the fitting CUresult),
        ``assumed``.
    sources
        Where the demand is stated or was observed.
    held
        ``always``, or in which profile a broken rule refuses the call; in the other it is a finding
        (``strict``) or does not exist (``hardware``).
    spec
        Ids of the numbered specification that it covers.
    check
        The function: facts in, reason or None out.
    """

    code: str
    title: str
    kind: Kind
    calls: tuple[str, ...]
    status: Status | None
    evidence: Evidence
    sources: tuple[Source, ...]
    held: Held
    spec: tuple[str, ...]
    check: Callable[P, str | None]

    @property
    def name(self) -> str:
        """The Python name of the check, such as ``size_granularity``."""
        return self.check.__name__

    @property
    def source(self) -> str:
        """The sources in one line, for tables and JSON."""
        return "; ".join(map(str, self.sources))

    @property
    def page(self) -> str:
        """What the rule means, why it exists, an example and the fix: the docstring of the check."""
        return cleandoc(self.check.__doc__ or "")

    def refuses(self, profile: str) -> bool:
        """Whether a call that breaks the rule is refused in ``profile`` (``strict`` or ``hardware``)."""
        return self.status is not None and self.held in ("always", profile)

    def reports(self, profile: str) -> bool:
        """Whether breaking the rule in ``profile`` is a finding though the call goes on."""
        return not self.refuses(profile) and self.held != "hardware" and self.kind != "blocks"

    def describe(self, call: str, reason: str) -> str:
        """Compose the one message form from the C name of the call and a reason that `check` returned."""
        return f"{self.code} {python_name(call)}: {reason}. More: cumulticast rules {self.code}"


class Refused(Exception):
    """A call is refused: what every handler of the simulator raises instead of returning.

    Parameters
    ----------
    status
        What the caller is answered.
    rule
        The rule that was broken; None for an injected fault.
    reason
        The text that the rule's check returned.
    """

    def __init__(self, status: Status, rule: Rule[...] | None, reason: str) -> None:
        super().__init__(status, rule, reason)
        self.status = status
        self.rule = rule
        self.reason = reason

    def __str__(self) -> str:
        code = f"{self.rule.code}: " if self.rule else ""
        return f"{code}{self.reason} -> {int(self.status)} ({self.status.cuda_name})"


def broken(rule: Rule[P], *facts: P.args, **named: P.kwargs) -> Refused:
    """Return the refusal of a rule that these facts break."""
    reason = rule.check(*facts, **named)
    if rule.status is None or reason is None:
        raise ValueError(f"{rule.code} is not broken by {facts} {named}, or refuses nothing")
    return Refused(rule.status, rule, reason)


_BOOK: dict[str, Rule[...]] = {}


def rule(
    code: str,
    title: str,
    *,
    calls: tuple[str, ...],
    evidence: Evidence,
    source: Source | tuple[Source, ...],
    kind: Kind = "error",
    status: Status | None = None,
    held: Held = "always",
    spec: tuple[str, ...] = (),
) -> Callable[[Callable[P, str | None]], Rule[P]]:
    """Turn a check into a `Rule` and enter it into the book.

    Raises
    ------
    ValueError
        The code is taken, or kind and status do not go together.
    """
    if (kind in ("error", "limit")) != (status is not None) and kind != "undefined":
        raise ValueError(f"{code}: kind {kind} {'needs a' if status is None else 'has no'} status")
    sources = source if isinstance(source, tuple) else (source,)

    def enter(check: Callable[P, str | None]) -> Rule[P]:
        known = _BOOK.get(code)  # the same one again, where a signal cut the module's first import off
        if known is not None and (known.check.__module__, known.name) != (check.__module__, check.__name__):
            raise ValueError(f"{code} is already {known.name}")
        made = Rule(code, title, kind, calls, status, evidence, sources, held, spec, check)
        _BOOK[code] = made
        return made

    return enter


def all_rules() -> tuple[Rule[...], ...]:
    """Return every rule, ordered by code."""
    return tuple(_BOOK[code] for code in sorted(_BOOK, key=_number))


def find(code: str) -> Rule[...]:
    """Return the rule with this code.

    Raises
    ------
    KeyError
        There is none; the message names the nearest codes.
    """
    wanted = code.upper()
    if wanted not in _BOOK:
        raise KeyError(f"no rule {code}; {_nearest(wanted)}")
    return _BOOK[wanted]


def _number(code: str) -> int:
    """Answer the number of a code: 1001 of MC1001."""
    return int(code[2:])


def _nearest(code: str) -> str:
    """Name the two codes nearest in number, or say how codes look."""
    if not (code.startswith("MC") and code[2:].isdecimal()):
        return "codes look like MC304"
    near = sorted(_BOOK, key=lambda known: abs(_number(known) - _number(code)))[:2]
    return f"nearest {' and '.join(sorted(near, key=_number))}"
