"""Libraries, kernels, attributes, limits of launches, occupancy, linking, options of the compiler."""

from __future__ import annotations

import ctypes
from pathlib import Path

from cuda.bindings import driver as cu
from recorder import Recorder, group

FATBINS = Path(__file__).parents[2] / "data" / "fatbins"
HEAD = b".version 8.0\n.target sm_90\n.address_size 64\n"
PTX = (
    HEAD
    + b"""
.global .align 4 .b8 place[64];
.const .align 4 .b8 fixed[32];
.visible .entry nothing() { ret; }
.visible .entry takes(.param .u64 p, .param .u32 n) { ret; }
.visible .entry shared() { .shared .align 4 .b8 room[1024]; .reg .b32 %r<3>; mov.u32 %r1, room;
    st.shared.u32 [%r1], %r1; ret; }
.visible .entry bounded() .maxntid 128, 1, 1 { ret; }
.visible .entry fixed_block() .reqntid 64, 1, 1 { ret; }
.visible .entry fixed_cluster() .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }
\0"""
)
BROKEN = HEAD + b".visible .entry f() {\n  nonsense;\n  ret;\n}\n\0"
GIVES = (
    HEAD + b".visible .func (.param .b32 r) give() { .reg .b32 %r<2>; mov.u32 %r1, 7; st.param.b32 [r], %r1; ret; }\n\0"
)
WANTS = (
    HEAD
    + b""".extern .func (.param .b32 r) give();
.visible .entry wants(.param .u64 p) { .reg .b32 %r<2>; .reg .b64 %d<2>; ld.param.u64 %d1, [p];
  { .param .b32 got; call (got), give; ld.param.b32 %r1, [got]; } st.global.u32 [%d1], %r1; ret; }
\0"""
)
A = cu.CUfunction_attribute
J = cu.CUjit_option
L = cu.CUlaunchAttributeID
kernels = group(kind="kernels")


def module(step: Recorder, name: bytes) -> tuple[object, object]:
    """Load the module and answer it and one of its functions."""
    loaded = step.quiet("cuModuleLoadData", PTX)
    return loaded, step.quiet("cuModuleGetFunction", loaded, name)


def config(grid: tuple, block: tuple, dynamic: int = 0, **attributes: object) -> cu.CUlaunchConfig:
    """Make a configuration; attributes by their number: ``a4=(2, 1, 1)``."""
    made = cu.CUlaunchConfig()
    made.gridDimX, made.gridDimY, made.gridDimZ = grid
    made.blockDimX, made.blockDimY, made.blockDimZ = block
    made.sharedMemBytes = dynamic
    attrs = []
    for number, value in attributes.items():
        one = cu.CUlaunchAttribute()
        one.id = L(int(number[1:]))
        if one.id == L.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            one.value.clusterDim.x, one.value.clusterDim.y, one.value.clusterDim.z = value
        else:
            ctypes.memmove(one.value.getPtr(), int(value).to_bytes(8, "little", signed=int(value) < 0), 8)
        attrs.append(one)
    made.attrs, made.numAttrs = attrs, len(attrs)
    return made


@kernels
def libraries(step: Recorder) -> None:
    """What libraries answer."""
    library = step("load", "cuLibraryLoadData", PTX, [], [], 0, [], [], 0, hide=True)
    step("count", "cuLibraryGetKernelCount", library)
    kernel = step("kernel", "cuLibraryGetKernel", library, b"nothing", hide=True)
    step("kernel.missing", "cuLibraryGetKernel", library, b"absent")
    owned = step("module", "cuLibraryGetModule", library, hide=True)
    step("module.unload", "cuModuleUnload", owned)
    step("global", "cuLibraryGetGlobal", library, b"place", hide=True)
    step("global.missing", "cuLibraryGetGlobal", library, b"absent")
    step("managed.plain", "cuLibraryGetManaged", library, b"place", hide=True)
    step("unified", "cuLibraryGetUnifiedFunction", library, b"nothing")
    step("kernel.name", "cuKernelGetName", kernel)
    step("kernel.function", "cuKernelGetFunction", kernel, hide=True)
    step("kernel.attribute", "cuKernelGetAttribute", A.CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0)
    step("kernel.bad_device", "cuKernelGetAttribute", A.CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 9)
    step("kernel.set_read_only", "cuKernelSetAttribute", A.CU_FUNC_ATTRIBUTE_NUM_REGS, 3, kernel, 0)
    step("kernel.params", "cuKernelGetParamInfo", kernel, 0)
    step("launch.kernel", "cuLaunchKernel", cu.CUfunction(int(kernel)), 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
    step("file.missing", "cuLibraryLoadFromFile", b"/nonexistent.ptx", [], [], 0, [], [], 0)
    preserved = [cu.CUlibraryOption.CU_LIBRARY_BINARY_IS_PRESERVED]
    step("load.preserved", "cuLibraryLoadData", PTX, [], [], 0, preserved, [True], 1, hide=True)
    for name, image in {"broken": BROKEN, "garbage": b"not a module\0", "empty": b"\0"}.items():
        bad = step(f"{name}.load", "cuLibraryLoadData", image, [], [], 0, [], [], 0, hide=True)
        if bad is not None:
            step(f"{name}.count", "cuLibraryGetKernelCount", bad)
            step(f"{name}.kernel", "cuLibraryGetKernel", bad, b"f")
            step(f"{name}.module", "cuLibraryGetModule", bad)
            step(f"{name}.unload", "cuLibraryUnload", bad)
    step("unload", "cuLibraryUnload", library)
    step("null.unload", "cuLibraryUnload", 0)
    step("null.kernel", "cuLibraryGetKernel", 0, b"f")
    step("null.attribute", "cuKernelGetAttribute", A.CU_FUNC_ATTRIBUTE_NUM_REGS, 0, 0)
    step("null.name", "cuKernelGetName", 0)


@kernels
def function_attributes(step: Recorder) -> None:
    """Attributes read and set."""
    loaded, function = module(step, b"shared")
    for attribute in (A.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, A.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES):
        step(f"shared.{int(attribute)}", "cuFuncGetAttribute", attribute, function)
    for value in (0, 1, 65536, 231424, 231425, 232448, -1):
        step(f"dynamic.{value}", "cuFuncSetAttribute", function, A(8), value)
        step(f"dynamic.{value}.read", "cuFuncGetAttribute", A(8), function)
    for attribute, value in ((9, 50), (9, 101), (9, -1), (9, -2), (4, 32), (10, 1), (14, 1), (14, 2), (15, 2), (15, 9)):
        step(f"set.{attribute}.{value}", "cuFuncSetAttribute", function, A(attribute), value)
    for value in ((2, 1, 1), (0, 0, 0), (-1, 1, 1)):
        for axis, one in enumerate(value):
            step(f"cluster.{value}.{axis}".replace(" ", ""), "cuFuncSetAttribute", function, A(11 + axis), one)
    for name in (b"bounded", b"fixed_block", b"fixed_cluster", b"takes"):
        other = step.quiet("cuModuleGetFunction", loaded, name)
        for attribute in (0, 2, 10, 11, 12, 13):
            step(f"{name.decode()}.{attribute}", "cuFuncGetAttribute", A(attribute), other)
    step(
        "fixed_cluster.set", "cuFuncSetAttribute", step.quiet("cuModuleGetFunction", loaded, b"fixed_cluster"), A(11), 4
    )
    takes = step.quiet("cuModuleGetFunction", loaded, b"takes")
    for index in (0, 1, 2):
        step(f"param.{index}", "cuFuncGetParamInfo", takes, index)
    step("cache.3", "cuFuncSetCacheConfig", function, cu.CUfunc_cache(3))
    listed = step("enumerate", "cuModuleEnumerateFunctions", 2, loaded, hide=True)
    for attribute in (0, 1, 2, 3, 4, 8):
        step(f"unloaded.{attribute}", "cuFuncGetAttribute", A(attribute), listed[0])
    step("unloaded.is_loaded", "cuFuncIsLoaded", listed[0])
    step("loaded.load", "cuFuncLoad", listed[0])
    step("loaded.is_loaded", "cuFuncIsLoaded", listed[0])
    step("null.attribute", "cuFuncGetAttribute", A(0), 0)
    step("null.name", "cuFuncGetName", 0)
    step("null.set", "cuFuncSetAttribute", 0, A(8), 0)
    step("null.module", "cuFuncGetModule", 0)
    step("null.param", "cuFuncGetParamInfo", 0, 0)
    step("null.is_loaded", "cuFuncIsLoaded", 0)


@kernels
def launch_limits(step: Recorder) -> None:
    """Launches that break one limit, and two at once."""
    loaded, function = module(step, b"nothing")

    def launch(name: str, what: object, grid=(1, 1, 1), block=(1, 1, 1), dynamic=0, params=0, extra=0) -> None:
        step(name, "cuLaunchKernel", what, *grid, *block, dynamic, 0, params, extra)

    for name, blocks in {"bounded": (128, 129), "fixed_block": (64, 32), "shared": (1, 1)}.items():
        other = step.quiet("cuModuleGetFunction", loaded, name.encode())
        for count in blocks:
            launch(f"{name}.{count}", other, block=(count, 1, 1))
    shared = step.quiet("cuModuleGetFunction", loaded, b"shared")
    for dynamic in (48128, 48129, 49152):
        launch(f"shared.{dynamic}", shared, dynamic=dynamic)
    cluster = step.quiet("cuModuleGetFunction", loaded, b"fixed_cluster")
    for width in (1, 2, 3):
        launch(f"cluster.{width}", cluster, grid=(width, 1, 1))
    takes = step.quiet("cuModuleGetFunction", loaded, b"takes")
    buffer, size = ctypes.create_string_buffer(16), ctypes.c_size_t(16)
    at, length = ctypes.addressof(buffer), ctypes.addressof(size)
    for name, words in {
        "packed": (1, at, 2, length, 0),
        "reversed": (2, length, 1, at, 0),
        "unknown": (7, at, 0),
        "no_size": (1, at, 0),
        "nothing": (0,),
    }.items():
        extra = (ctypes.c_void_p * len(words))(*words)
        launch(f"extra.{name}", takes, extra=ctypes.addressof(extra))
    for count in (0, 8, 11, 12, 13, 4096):
        size.value = count
        extra = (ctypes.c_void_p * 5)(1, at, 2, length, 0)
        launch(f"extra.size.{count}", takes, extra=ctypes.addressof(extra))
    both = (ctypes.c_void_p * 2)(at, at)
    launch("both", takes, params=ctypes.addressof(both), extra=ctypes.addressof(extra))
    launch("both.no_parameters", function, params=ctypes.addressof(both), extra=ctypes.addressof(extra))
    launch("order.grid_block", function, grid=(0, 1, 1), block=(0, 1, 1))
    launch("order.block_shared", function, block=(1025, 1, 1), dynamic=300000)
    launch("order.shared_params", takes, dynamic=300000)
    launch("order.null_grid", 0, grid=(0, 1, 1))
    launch("order.bound_grid", step.quiet("cuModuleGetFunction", loaded, b"bounded"), grid=(0, 1, 1), block=(129, 1, 1))
    other = step.quiet("cuCtxCreate", None, 0, 0)
    stream = step.quiet("cuStreamCreate", 0)
    step("other_context", "cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0)
    step("other_context.null_stream", "cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
    step.quiet("cuStreamDestroy", stream)
    step.quiet("cuCtxDestroy", other)
    step.synchronize("synchronize")


@kernels
def launch_attributes(step: Recorder) -> None:
    """Launches with attributes."""
    loaded, function = module(step, b"nothing")
    step("plain", "cuLaunchKernelEx", config((4, 1, 1), (32, 1, 1)), function, 0, 0)
    for number, value in (
        *((0, 5), (2, 1), (3, 1), (5, 2), (5, 9), (6, 1), (8, -3), (8, 7), (10, 1), (10, 5), (13, 1), (14, 50)),
        *((14, 101), (16, 1), (16, 2), (17, 1), (17, 9), (18, 1)),
    ):
        step(
            f"{number}.{value}",
            "cuLaunchKernelEx",
            config((4, 1, 1), (32, 1, 1), **{f"a{number}": value}),
            function,
            0,
            0,
        )
    for grid, cluster in (
        ((4, 1, 1), (2, 1, 1)),
        ((3, 1, 1), (2, 1, 1)),
        ((4, 1, 1), (0, 1, 1)),
        ((8, 1, 1), (8, 1, 1)),
        ((9, 1, 1), (9, 1, 1)),
        ((16, 1, 1), (16, 1, 1)),
        ((32, 1, 1), (32, 1, 1)),
    ):
        name = f"cluster.{grid[0]}.{cluster[0]}"
        step(name, "cuLaunchKernelEx", config(grid, (32, 1, 1), a4=cluster), function, 0, 0)
        step(f"{name}.wide", "cuLaunchKernelEx", config(grid, (32, 1, 1), a4=cluster, a17=2), function, 0, 0)
    fixed = step.quiet("cuModuleGetFunction", loaded, b"fixed_cluster")
    for cluster in ((2, 1, 1), (4, 1, 1)):
        step(f"fixed.{cluster[0]}", "cuLaunchKernelEx", config((8, 1, 1), (32, 1, 1), a4=cluster), fixed, 0, 0)
    for flags in (0, 2):
        event = step.quiet("cuEventCreate", flags)
        step(f"event.{flags}", "cuLaunchKernelEx", config((1, 1, 1), (1, 1, 1), a12=int(event)), function, 0, 0)
    step("cooperative_wide", "cuLaunchKernelEx", config((100000, 1, 1), (1024, 1, 1), a2=1), function, 0, 0)
    step.quiet("cuFuncSetAttribute", function, A(14), 1)
    step("cluster.16.allowed", "cuLaunchKernelEx", config((16, 1, 1), (32, 1, 1), a4=(16, 1, 1)), function, 0, 0)
    step.synchronize("synchronize")


@kernels
def occupancy(step: Recorder) -> None:
    """Occupancy of kernels that need next to nothing."""
    loaded, function = module(step, b"nothing")
    for block, dynamic in (
        (0, 0),
        (-1, 0),
        (1, 0),
        (32, 0),
        (33, 0),
        (128, 0),
        (1024, 0),
        (1025, 0),
        (128, 49152),
        (128, 49153),
        (32, 16384),
    ):
        step(f"blocks.{block}.{dynamic}", "cuOccupancyMaxActiveBlocksPerMultiprocessor", function, block, dynamic)
    for flags in (1, 2):
        step(f"flags.{flags}", "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", function, 128, 0, flags)
    for limit, dynamic in ((0, 0), (100, 0), (256, 0), (0, 49152), (-1, 0), (2000, 0)):
        step(f"suggest.{limit}.{dynamic}", "cuOccupancyMaxPotentialBlockSize", function, 0, dynamic, limit)
    for blocks, threads in ((1, 128), (2, 128), (3, 128), (32, 32), (33, 32), (0, 128), (1, 0), (1, 2048)):
        step(f"available.{blocks}.{threads}", "cuOccupancyAvailableDynamicSMemPerBlock", function, blocks, threads)
    for cluster in (1, 2, 4, 8, 16):
        asked = config((cluster, 1, 1), (128, 1, 1), a4=(cluster, 1, 1))
        step(f"clusters.{cluster}", "cuOccupancyMaxActiveClusters", function, asked)
    step("clusters.unnamed", "cuOccupancyMaxActiveClusters", function, config((1, 1, 1), (128, 1, 1)))
    step("cluster_size", "cuOccupancyMaxPotentialClusterSize", function, config((1, 1, 1), (128, 1, 1)))
    bounded = step.quiet("cuModuleGetFunction", loaded, b"bounded")
    step("bounded.128", "cuOccupancyMaxActiveBlocksPerMultiprocessor", bounded, 128, 0)
    step("bounded.129", "cuOccupancyMaxActiveBlocksPerMultiprocessor", bounded, 129, 0)
    step("bounded.suggest", "cuOccupancyMaxPotentialBlockSize", bounded, 0, 0, 0)
    fixed = step.quiet("cuModuleGetFunction", loaded, b"fixed_cluster")
    step("fixed.cluster_size", "cuOccupancyMaxPotentialClusterSize", fixed, config((2, 1, 1), (128, 1, 1)))
    step("null", "cuOccupancyMaxActiveBlocksPerMultiprocessor", 0, 128, 0)


@kernels
def jit_options(step: Recorder) -> None:
    """Logs of the compiler, and options that are none."""
    for name, image in {
        "broken": BROKEN,
        "future": PTX.replace(b"8.0", b"99.0"),
        "target": PTX.replace(b"sm_90", b"sm_100"),
        "garbage": b"not a module\0",
        "good": PTX,
    }.items():
        error, info = bytearray(600), bytearray(600)
        options = [
            J.CU_JIT_ERROR_LOG_BUFFER,
            J.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            J.CU_JIT_INFO_LOG_BUFFER,
            J.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
            J.CU_JIT_LOG_VERBOSE,
        ]
        step(name, "cuModuleLoadDataEx", image, 5, options, [error, 600, info, 600, 1], hide=True)
        step.note(f"{name}.log", bytes(error).rstrip(b"\0").decode(), bytes(info).rstrip(b"\0").decode())
    error = bytearray(600)
    options = [J.CU_JIT_ERROR_LOG_BUFFER, J.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
    library = step("library.load", "cuLibraryLoadData", BROKEN, options, [error, 600], 2, [], [], 0, hide=True)
    step.note("library.load.log", bytes(error).rstrip(b"\0").decode())
    if library is not None:
        step("library.kernel", "cuLibraryGetKernel", library, b"f")
        step.note("library.kernel.log", bytes(error).rstrip(b"\0").decode())
    step("alone", "cuModuleLoadDataEx", PTX, 1, [J.CU_JIT_ERROR_LOG_BUFFER], [bytearray(100)], hide=True)
    step("target", "cuModuleLoadDataEx", PTX, 1, [J.CU_JIT_TARGET], [cu.CUjit_target(90)], hide=True)
    raw = ctypes.c_void_p(0)
    numbers, values = (ctypes.c_int * 1)(99), (ctypes.c_void_p * 1)(0)
    step.raw("unknown", "cuModuleLoadDataEx", ctypes.byref(raw), PTX, 1, numbers, values)
    step.raw("no_arrays", "cuModuleLoadDataEx", ctypes.byref(raw), PTX, 0, None, None)


@kernels
def fatbins(step: Recorder) -> None:
    """Fatbins of PTX, as libnvfatbin writes them."""
    for name in ("plain", "lz4", "zstd"):
        data = (FATBINS / f"{name}.fatbin").read_bytes()
        loaded = step(f"{name}.load", "cuModuleLoadData", data, hide=True)
        if loaded is not None:
            step(f"{name}.count", "cuModuleGetFunctionCount", loaded)
        step(f"{name}.load_fat", "cuModuleLoadFatBinary", data, hide=True)
    cut = bytearray((FATBINS / "plain.fatbin").read_bytes())
    cut[16 + 28 : 16 + 32] = (120).to_bytes(4, "little")
    step("newer", "cuModuleLoadData", bytes(cut), hide=True)


@kernels
def linking(step: Recorder) -> None:
    """Linking of two texts, of one that lacks a function, of one that is broken."""
    ptx = cu.CUjitInputType.CU_JIT_INPUT_PTX
    for name, images in {
        "two": (GIVES, WANTS),
        "lacking": (WANTS,),
        "twice": (GIVES, GIVES),
        "broken": (BROKEN,),
        "none": (),
    }.items():
        error = bytearray(600)
        options = [J.CU_JIT_ERROR_LOG_BUFFER, J.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        state = step(f"{name}.create", "cuLinkCreate", 2, options, [error, 600], hide=True)
        for number, image in enumerate(images):
            step(f"{name}.add.{number}", "cuLinkAddData", state, ptx, image, len(image), b"text%d" % number, 0, [], [])
        made = step(f"{name}.complete", "cuLinkComplete", state, hide=True)
        step.note(f"{name}.log", bytes(error).rstrip(b"\0").decode())
        if made is not None:
            step(f"{name}.load", "cuModuleLoadData", made[0], hide=True)
        step(f"{name}.destroy", "cuLinkDestroy", state)
    state = step.quiet("cuLinkCreate", 0, [], [])
    step(
        "add.target", "cuLinkAddData", state, ptx, GIVES, len(GIVES), b"x", 1, [J.CU_JIT_TARGET], [cu.CUjit_target(90)]
    )
    step("add.file", "cuLinkAddFile", state, ptx, b"/nonexistent.ptx", 0, [], [])
    step("add.nvvm", "cuLinkAddData", state, cu.CUjitInputType.CU_JIT_INPUT_NVVM, GIVES, len(GIVES), b"x", 0, [], [])
    step("null.complete", "cuLinkComplete", 0)
    step("null.destroy", "cuLinkDestroy", 0)


@kernels
def module_unloaded(step: Recorder) -> None:
    """A module that is gone, used: this may end the process."""
    loaded, function = module(step, b"nothing")
    step("unload", "cuModuleUnload", loaded)
    step("attribute", "cuFuncGetAttribute", A(0), function)
    step("launch", "cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)


@kernels
def module_wild(step: Recorder) -> None:
    """A number that is no module: this may end the process."""
    step("function", "cuModuleGetFunction", 0x1234, b"f")
