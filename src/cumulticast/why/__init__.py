"""Why it failed: from the texts that people have to a cause, its evidence and a remedy.

    >>> import cumulticast
    >>> print(cumulticast.explain(["train.log", "fabricmanager.log"]))

A text goes through these files: `reading` picks the lines with a telling word, `prefixes` strips them, `signs` and
`readers` make typed observations of them, `derive` adds what several together mean, `causes` holds what is known
(``causes.toml``), `judge` weighs it. This room imports the rules and nothing else of the house. It is called ``why``
because ``cumulticast.explain`` is its function.
"""

from cumulticast.why.ask import explain, explain_streams, hint
from cumulticast.why.diagnosis import Diagnosis, Quote
from cumulticast.why.page import answer
from cumulticast.why.question import Question, question

__all__ = ["Diagnosis", "Question", "Quote", "answer", "explain", "explain_streams", "hint", "question"]
