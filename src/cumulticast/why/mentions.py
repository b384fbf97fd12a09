"""Lines that only speak of a failure: source code, documents, change logs, help texts, expectations of tests.

Such a line has the words of a failure and is none: nothing happened when it was written.
"""

from __future__ import annotations

import re

from cumulticast.why.reading import Line

_FRAME = re.compile(r'^\s*File "[^"]+", line \d+')  # Python shows the source below it
_CODE = re.compile(
    r";\s*(?://.*|/\*.*)?$|[{\\]$|^\s*(?://|/\*|\*\s)|//\s.*$"
    r"|\b(?:raise|throw)\s+[\w.:]+\(|\b[\w.]*(?:print|printf|puts|warn|warning|error|critical|info|debug|log)\(\s*\w{0,2}[\"']"
    r"|^\s*(?:if|elif|else|return(?! code)|def|assert|import|case|except|try|for|while|class|with)\b.*[:(]"
    r"|[!=]= *(?:CUDA_ERROR|cudaError|CUresult)|CUDA_ERROR_\w+ *= *\d+,?$|# noqa"
)
#: A name, an argument or a decorator with a text; a tuple of texts; a documenting string; a JSON name of a status.
_LITERAL = re.compile(
    r"^\s*[a-z_][\w.]* = (?:[\w.]+\()?[\[({]*[bfru]*[\"']|^\s*[a-z_]\w*=[A-Za-z_][\w.]*\([\"']|^\s*return\b.*\bf?[\"']"
    r"|^\s*\([\"'].*\),$|^\s*[\"'][\w.]+[\"'],$|^\s*\"name\": *\"CUDA_ERROR_\w+\",?$|^\s*@\w"
    r"|\"\"\"|“.*”|^\d+\tCUDA_\w+\t"
)
_PROSE = re.compile(
    r"(?i)\b(?:may|can|could|might|will|would|should|must) (?:also )?(?:return|answer|report|fail|raise|throw)\b"
    r"|\b(?:if|when|whenever|unless|in case)\b[^.;:]{0,60}?"
    r"\b(?:fails|returns?|answers?|reports?|sees?|gets?|hits?|throws?|raises?)\b"
    r"|\bas expected\b|\bexpected (?:CUDA_ERROR|cudaError|error|failure)"
    r"|^\s*(?:PASS(?:ED)?|ok)\b|\b(?:PASSED|XFAIL)$|\bok$"
)
_CHANGE = re.compile(
    r"^\s*(?:[-*+•] |\d+[.)] )?(?:\w+(?:\([\w-]+\))?: )?"
    r"(?:Handle[sd]?\b(?! (?:0x|\d))|Supports?\b|Treat\b|Ignore\b|Work ?around\b"
    r"|(?i:(?:fix(?:e[sd])?|print|documents?|improve[sd]?|avoids?|refactor)\b|add(?:s|ed)?\b(?! device)))"
)
_GREP = re.compile(r"^[\w./-]+\.(?:(?:md|rst|html):\d+:|\w+:\d+: {2,}\S)|\b\d+: *[\"'][^\"']*[\"'],$")
_TABLE = re.compile(r"^\s*(?:[\w./-]+:\d+:)?\s*\|.*\|\s*$")
_OPTION = re.compile(r"^\s+--?[\w-]+(?:[ ,=]\S+)?\s{2,}\S")


_FORMS = (_CODE, _LITERAL, _PROSE, _CHANGE, _GREP, _TABLE, _OPTION)


def mentioned(line: Line) -> bool:
    """Tell whether a line only speaks of what it names."""
    text = line.text
    return any(form.search(text) for form in _FORMS) or _is_source(line)


def _is_source(line: Line) -> bool:
    """Whether it is the line of source that a Python traceback shows."""
    above = line.preceding(1) if line.text.startswith(" ") else []
    return bool(above) and _FRAME.match(above[0].text) is not None
