"""Where a rule comes from: a sentence, a recorded step, or a note on something no wheel contains."""

from dataclasses import dataclass
from typing import Literal

Recording = Literal["vmm", "driver", "peer", "kernels", "graphs"]
Origin = Literal["kernel driver", "programming guide", "PTX ISA", "cuda.h", "public report", "settled here"]


@dataclass(frozen=True, slots=True)
class Document:
    """A sentence of NVIDIA's documentation, as the installed ``cuda.bindings`` wheel carries it.

    ``place`` names what has the docstring: a function or enumeration of ``cuda.bindings._v2.driver``,
    or, where only the first bindings have the text, of ``cuda.bindings.driver`` (members: ``CUresult.X``).
    ``sentence`` is a short verbatim fragment; a test finds it there.
    """

    place: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.place}: “{self.sentence}”"


@dataclass(frozen=True, slots=True)
class Transcript:
    """A step that a real driver answered: H200, driver 580.159, CUDA 13.0 (one device; ``peer``: two).

    ``output`` is given where the answer stands in the step's output, not in its status.
    """

    group: str
    step: str
    output: str = ""
    recording: Recording = "vmm"

    @property
    def file(self) -> str:
        """The name of the recording."""
        return f"h200-580.159-{self.recording}.json"

    def __str__(self) -> str:
        return f"{self.file}: {self.group}/{self.step}"


@dataclass(frozen=True, slots=True)
class Note:
    """A statement from elsewhere, in our words, with where it was read."""

    origin: Origin
    text: str

    def __str__(self) -> str:
        return f"{self.origin}: {self.text}"


Source = Document | Transcript | Note
