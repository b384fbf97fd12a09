"""What NVRTC writes: kept texts always, fresh ones where NVRTC and its headers are installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cumulticast.ptx.forms import check
from cumulticast.ptx.parser import parse
from cumulticast.ptx.syntax import Function, Instruction, Module, Symbol

NVRTC = Path(__file__).with_name("data") / "nvrtc"
KEPT = sorted(NVRTC.glob("*.ptx"))


def good(text: str | bytes) -> Module:
    """Parse and check a text for the device of its target."""
    module = parse(text)
    check(module, sm=int(re.sub(r"\D", "", module.target)))
    return module


def defined(module: Module) -> list[Function]:
    return [function for function in module.functions.values() if function.body is not None]


@pytest.mark.parametrize("path", KEPT, ids=[path.stem for path in KEPT])
def test_kept_texts_pass_whole(path: Path) -> None:
    text = path.read_text()
    module = good(text)
    assert len(defined(module)) == len(re.findall(r"^(?:\.weak |\.visible )?\.(?:func|entry)[^;{]*\{", text, re.M)) > 0
    # Every line that ends an instruction made one: declarations, directives and callseq braces aside.
    code = re.findall(r"^\s+(?:@!?%p\d+ )?[a-z]\w*(?:\.[\w:]+)*(?:[ \t][^{}\n]*|[ \t]*\{[^\n]*\}[^\n]*)?;", text, re.M)
    made = [one for function in defined(module) for one in function.body or () if isinstance(one, Instruction)]
    assert len(made) >= 0.9 * len(code) > 0


def test_a_kept_text_means_what_it_says() -> None:
    module = good((NVRTC / "basic-90.ptx").read_text())
    assert (module.version, module.target, module.address_size) == ((9, 5), "sm_90", 64)
    assert module.variables["man"].managed and module.variables["counter"].initial == (7).to_bytes(4, "little")
    assert [one.symbol for one in module.variables["ss"].relocations] == ["counter"]
    assert module.variables["dyn"].size == 0 and module.variables["dyn"].linkage == "extern"
    assert module.functions["k2"].directives == {"maxntid": (256, 1, 1), "minnctapersm": (2,)}
    calls = [
        one for one in module.functions["_Z3fibi"].body or () if isinstance(one, Instruction) and one.opcode == "call"
    ]
    assert calls and all(one.operands[1] == Symbol("_Z3fibi") for one in calls)
    assert len({one.operands[2] for one in calls}) == len(calls), "every call has parameters of its own"
    assert module.functions["k6"].prototypes, "an indirect call has a prototype"


# ---- fresh

_ARCHITECTURES = ["80", "90", "100", "103", "120"]


def compiled(source: str, architecture: str, *options: str) -> bytes:
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    include = _headers()
    try:
        _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"k.cu", 0, [], [])
    except RuntimeError as error:
        pytest.skip(f"no NVRTC: {error}")
    flags = [
        f"--gpu-architecture=compute_{architecture}",
        "--std=c++17",
        "--device-int128",
        f"--include-path={include}",
    ]
    (status,) = nvrtc.nvrtcCompileProgram(
        program, len(flags) + len(options), [one.encode() for one in (*flags, *options)]
    )
    assert not status, status
    _, size = nvrtc.nvrtcGetPTXSize(program)
    text = b" " * size
    nvrtc.nvrtcGetPTX(program, text)
    nvrtc.nvrtcDestroyProgram(program)
    return text


def _headers() -> Path:
    from importlib.metadata import PackageNotFoundError, files

    try:
        found = [one for one in files("nvidia-cuda-runtime") or () if one.name == "cuda_fp16.h"]
    except PackageNotFoundError:
        found = []
    if not found:
        pytest.skip("the CUDA headers are not installed")
    return Path(str(found[0].locate())).parent


@pytest.mark.parametrize("architecture", _ARCHITECTURES)
@pytest.mark.parametrize("name", ["basic", "mma"])
def test_fresh_texts_pass(name: str, architecture: str) -> None:
    module = good(compiled((NVRTC / f"{name}.cu").read_text(), architecture))
    assert len(defined(module)) > 0


@pytest.mark.parametrize("options", [("-lineinfo",), ("-G",), ("--use_fast_math", "--maxrregcount=64")])
def test_fresh_texts_with_options_pass(options: tuple[str, ...]) -> None:
    module = good(compiled((NVRTC / "mma.cu").read_text(), "90", *options))
    assert {"m1", "m2"} <= module.functions.keys()
