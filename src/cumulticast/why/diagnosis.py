"""The answer: what happened, on what evidence, what else is possible, what to check and to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cumulticast.why.causes import Verdict

VERDICTS: dict[Verdict, str] = {
    "fault": "Something is wrong, and it concerns multicast, NVLS or fabric handles",
    "unsupported": "This machine or mode has no multicast; nothing is to be repaired, that is normal there",
    "healthy": "Fabric and multicast look healthy",
    "unrelated": "Nothing about multicast here; the trouble has another origin",
    "uncertain": "The text does not decide the cause",
}


@dataclass(frozen=True, slots=True)
class Quote:
    """A line that is cited: ``input.log:12`` and its text."""

    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What `explain` answers.

    Attributes
    ----------
    verdict
        ``fault``, ``unsupported``, ``healthy``, ``unrelated`` or ``uncertain``.
    cause
        The slug of the cause; None when the text supports none.
    title
        The cause in one line.
    call, code, name
        The driver function that failed first and its CUresult; None where the text does not tell.
    first_rank
        The first rank that failed; None where the text does not tell.
    quotes
        The lines on which it rests.
    also_possible
        Slugs of other causes that the same lines would allow.
    why
        What happens, in a few sentences.
    checks, remedies
        What to look at, and what to do.
    confidence
        ``established``, ``thread claim`` or ``inferred``: how well the cause itself is known.
    would_settle
        What further text would decide, or confirm.
    asked
        Whether this answers a question, so that nothing was looked at.
    """

    verdict: Verdict
    cause: str | None
    title: str
    call: str | None
    code: int | None
    name: str | None
    first_rank: int | None
    quotes: tuple[Quote, ...]
    also_possible: tuple[str, ...]
    why: str
    checks: tuple[str, ...]
    remedies: tuple[str, ...]
    confidence: str
    would_settle: tuple[str, ...]
    asked: bool = False

    @property
    def status(self) -> dict[str, int | str | None]:
        """``{"code": 401, "name": "CUDA_ERROR_ILLEGAL_STATE"}``."""
        return {"code": self.code, "name": self.name}

    @property
    def evidence(self) -> list[str]:
        """The cited lines: ``file:line``."""
        return [quote.where for quote in self.quotes]

    def as_dict(self) -> dict[str, Any]:
        """Answer it as JSON has it, without the schema number."""
        return {
            "verdict": self.verdict,
            "cause": self.cause,
            "call": self.call,
            "status": self.status,
            "first_rank": self.first_rank,
            "evidence": self.evidence,
            "also_possible": list(self.also_possible),
            "why": " ".join([self.why, *self._seen()]),
            "checks": list(self.checks),
            "remedies": list(self.remedies),
            "confidence": self.confidence,
            "would_settle": list(self.would_settle),
        }

    def _seen(self) -> list[str]:
        """Say in one sentence what was seen where: each wording once, at most six."""
        first: dict[str, str] = {}
        for quote in self.quotes:
            first.setdefault(quote.text, quote.where)
        seen = [f"{where} '{text[:160]}'" for text, where in list(first.items())[:6]]
        return [f"Seen: {'; '.join(seen)}."] if seen else []

    def __str__(self) -> str:
        """Say it in plain text; paragraphs are one line each, so that words can be searched."""
        verdict = [] if self.asked else [f"{self.verdict}: {VERDICTS[self.verdict]}."]
        likely = "likeliest cause" if self.asked and self.also_possible else "cause"
        cause = [f"{likely} {self.cause}"] if self.cause else []
        parts = [*verdict, f"{self.title}.", *cause, self._failed(), self.why]
        blocks = ["\n".join(part for part in parts if part)]
        quoted = [f"{quote.where}: {quote.text[:200]}" for quote in self.quotes]
        for head, items in (
            ("Evidence", quoted),
            ("Also possible", self.also_possible),
            ("Check", self.checks),
            ("Do", self.remedies),
            ("Would settle it", self.would_settle),
        ):
            if items:
                blocks.append("\n".join([f"{head}:", *(f"  - {item}" for item in items)]))
        return "\n\n".join(blocks)

    def _failed(self) -> str:
        """Say what failed first."""
        words = [] if self.code is None else [f"status {self.code} ({self.name})"]
        words += [f"from {self.call}"] if self.call else []
        words += [f"first on rank {self.first_rank}"] if self.first_rank is not None else []
        return " ".join(words)
