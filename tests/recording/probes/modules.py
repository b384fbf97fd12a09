"""Modules and launches that are refused; a kernel that does nothing."""

from __future__ import annotations

from cuda.bindings import driver as cu
from recorder import Recorder, group

PTX = b""".version 8.0
.target sm_90
.address_size 64
.global .align 4 .b8 place[64];
.visible .entry nothing() { ret; }
.visible .entry takes(.param .u64 p) { ret; }
\0"""


@group()
def modules(step: Recorder) -> None:
    """Loading, looking up, launching with wrong dimensions."""
    for name, image in {
        "garbage": b"not a module\0",
        "empty": b"\0",
        "elf": b"\x7fELF" + bytes(60),
        "syntax": b".version 8.0\n.target sm_90\nnonsense\n\0",
        "future_isa": PTX.replace(b"8.0", b"99.0"),
        "future_target": PTX.replace(b"sm_90", b"sm_100"),
        "old_target": PTX.replace(b"sm_90", b"sm_70"),
    }.items():
        step(f"load.{name}", "cuModuleLoadData", image, hide=True)
    step("load.file", "cuModuleLoad", b"/nonexistent.cubin")
    module = step("load", "cuModuleLoadData", PTX, hide=True)
    step("loading_mode", "cuModuleGetLoadingMode")
    step("count", "cuModuleGetFunctionCount", module)
    function = step("function", "cuModuleGetFunction", module, b"nothing", hide=True)
    takes = step("function.takes", "cuModuleGetFunction", module, b"takes", hide=True)
    step("function.missing", "cuModuleGetFunction", module, b"absent")
    step("global", "cuModuleGetGlobal", module, b"place", hide=True)
    step("global.missing", "cuModuleGetGlobal", module, b"absent")
    step("name", "cuFuncGetName", function)
    step("params", "cuFuncGetParamCount", takes)
    for attribute in cu.CUfunction_attribute:
        step(f"attribute.{attribute.name}", "cuFuncGetAttribute", attribute, function)
    for grid, block, shared in (
        ((1, 1, 1), (1, 1, 1), 0),
        ((0, 1, 1), (1, 1, 1), 0),
        ((1, 0, 1), (1, 1, 1), 0),
        ((1, 1, 1), (0, 1, 1), 0),
        ((1, 1, 1), (1025, 1, 1), 0),
        ((1, 1, 1), (1, 1025, 1), 0),
        ((1, 1, 1), (1, 1, 65), 0),
        ((1, 1, 1), (32, 33, 1), 0),
        ((1, 65536, 1), (1, 1, 1), 0),
        ((1, 1, 65536), (1, 1, 1), 0),
        ((1 << 31, 1, 1), (1, 1, 1), 0),
        ((1, 1, 1), (1, 1, 1), 49153),
        ((1, 1, 1), (1, 1, 1), 300000),
    ):
        step(
            f"launch.{grid}.{block}.{shared}".replace(" ", ""),
            "cuLaunchKernel",
            function,
            *grid,
            *block,
            shared,
            0,
            0,
            0,
        )
    step("launch.no_arguments", "cuLaunchKernel", takes, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
    step("launch.null_function", "cuLaunchKernel", 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
    step("launch.cooperative", "cuLaunchCooperativeKernel", function, 1, 1, 1, 1, 1, 1, 0, 0, 0)
    step("launch.cooperative_wide", "cuLaunchCooperativeKernel", function, 100000, 1, 1, 1024, 1, 1, 0, 0, 0)
    step.synchronize("synchronize")
    step("unload", "cuModuleUnload", module)
    step("unload.null", "cuModuleUnload", 0)
