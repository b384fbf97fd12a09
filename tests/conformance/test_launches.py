"""Launches: shapes, parameters, attributes, occupancy, linking; each rule with the neighbour that it lets through."""

from __future__ import annotations

import ctypes
import threading
import time

import pytest
from builders import accepted, ask, refused, use
from cuda.bindings import driver as cu
from kernel_texts import (
    BROKEN,
    GIVES,
    ONE,
    SPINS,
    WANTS,
    config,
    device_bytes,
    function,
    library,
    module,
    packed,
    shape,
)

from answers import ok
from cumulticast import sim

A, J = cu.CUfunction_attribute, cu.CUjit_option
FILL = (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint8)
PTX_INPUT, NVVM_INPUT, LIBRARY_INPUT = (cu.CUjitInputType(number) for number in (1, 5, 4))


@pytest.fixture(autouse=True)
def current(hardware) -> None:
    use(0)


@pytest.fixture
def memory():
    address = int(ok(cu.cuMemAlloc(4096)))
    ok(cu.cuMemsetD8(address, 0, 4096))
    yield address
    ok(cu.cuMemFree(address))


def launch(found, given, params=0, extra=0):
    """Launch and wait: the answer of the launch."""
    answer = cu.cuLaunchKernel(found, *given, params, extra)
    cu.cuCtxSynchronize()
    return answer


# ---- shapes


@pytest.mark.parametrize(
    ("bad", "good", "code"),
    [
        (shape((0, 1, 1)), shape(), "MC1101"),
        (shape((1, 65536, 1)), shape((1, 3, 1)), "MC1102"),
        (shape((1, 1, 65536)), shape((1, 1, 3)), "MC1102"),
        (shape(ONE, (1, 1, 65)), shape(ONE, (1, 1, 64)), "MC1103"),
        (shape(ONE, (0, 1, 1)), shape(ONE, (1, 1, 1)), "MC1103"),
        (shape(ONE, (32, 33, 1)), shape(ONE, (32, 32, 1)), "MC1104"),
        (shape(dynamic=49153), shape(dynamic=49152), "MC1108"),
    ],
)
def test_limits_of_the_device(bad, good, code):
    found = function("nothing")
    assert refused(launch, found, bad) == (1, code)
    assert accepted(launch, found, good) == ""


@pytest.mark.parametrize(
    ("name", "bad", "good", "code"),
    [
        ("bounded", (129, 1, 1), (128, 1, 1), "MC1105"),
        ("exact", (32, 1, 1), (64, 1, 1), "MC1106"),
    ],
)
def test_limits_of_the_kernel(name, bad, good, code):
    found = function(name)
    assert refused(launch, found, shape(ONE, bad)) == (1, code)
    assert accepted(launch, found, shape(ONE, good)) == ""


def test_bounds_count_threads_whatever_their_shape_and_hints_bound_nothing():
    """PTX ISA, ".maxntid": the maximum number of threads is the product of the maxima of the dimensions."""
    head = ".version 8.8\n.target sm_90\n.address_size 64\n"
    lines = [
        ".visible .entry flat() .maxntid 8, 4, 2 { ret; }",
        ".visible .entry hinted() .maxntid 64, 1, 1 .minnctapersm 2 .maxnreg 32 { ret; }",
        ".visible .entry solid() .reqntid 8, 4, 2 .minnctapersm 2 { ret; }",
    ]
    text = (head + "\n".join(lines)).encode() + b"\0"
    for name in ("flat", "hinted"):
        found = function(name, text)
        for good in ((64, 1, 1), (1, 1, 64), (8, 4, 2), (1, 1, 1)):
            assert accepted(launch, found, shape(ONE, good)) == ""
        for bad in ((65, 1, 1), (9, 4, 2)):
            assert refused(launch, found, shape(ONE, bad)) == (1, "MC1105")
    found = function("solid", text)
    assert accepted(launch, found, shape(ONE, (8, 4, 2))) == ""
    for bad in ((64, 1, 1), (2, 4, 8), (1, 1, 1)):
        assert refused(launch, found, shape(ONE, bad)) == (1, "MC1106")


def test_registers_limit_a_block():
    registers = "".join(f"mov.u32 %r{n}, %clock; " for n in range(120))
    uses = "".join(f"xor.b32 %r0, %r0, %r{n}; " for n in range(120))
    text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry many(.param .u64 p) { .reg .b32 %r<120>; "
    text += f".reg .pred %q; .reg .b64 %d; {registers} setp.eq.u32 %q, %r0, %r1; @%q bra done; {uses} "
    text += "ld.param.u64 %d, [p]; st.global.u32 [%d], %r0; done: ret; }\n"
    found = function("many", text.encode() + b"\0")
    most = ok(cu.cuFuncGetAttribute(A.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, found))
    assert 256 <= most < 1024
    address = int(ok(cu.cuMemAlloc(4)))
    params = ((address,), (ctypes.c_void_p,))
    assert refused(launch, found, shape(ONE, (most + 1, 1, 1)), params) == (701, "MC1107")
    assert accepted(launch, found, shape(ONE, (most, 1, 1)), params) == ""
    ok(cu.cuMemFree(address))


def test_more_shared_memory_is_asked_for_first():
    found = function("shared")
    assert refused(launch, found, shape(dynamic=48129)) == (1, "MC1108")
    ok(cu.cuFuncSetAttribute(found, A.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000))
    assert accepted(launch, found, shape(dynamic=200000)) == ""
    assert refused(launch, found, shape(dynamic=200001)) == (1, "MC1108")
    ok(cu.cuFuncSetAttribute(found, A.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100))
    assert refused(launch, found, shape(dynamic=200000)) == (1, "MC1108"), "a smaller limit is not looked at again"


# ---- parameters


def test_parameters_arrive(memory):
    params = ((memory, 300, 0xAB), FILL)
    assert accepted(launch, function("fill"), shape((2, 1, 1), (256, 1, 1)), params) == ""
    assert device_bytes(memory, 302) == b"\xab" * 300 + b"\0\0"


def test_parameters_are_packed(memory):
    data = ctypes.create_string_buffer(memory.to_bytes(8, "little") + (20).to_bytes(4, "little") + b"\x05", 13)
    size, found = ctypes.c_size_t(13), function("fill")
    extra = packed(1, ctypes.addressof(data), 2, ctypes.addressof(size), 0)
    assert accepted(launch, found, shape(ONE, (32, 1, 1)), 0, ctypes.addressof(extra)) == ""
    assert device_bytes(memory, 22) == b"\5" * 20 + b"\0\0"
    size.value = 14
    assert refused(launch, found, shape(), 0, ctypes.addressof(extra)) == (701, "MC1111")
    size.value = 12
    assert accepted(launch, found, shape(), 0, ctypes.addressof(extra)) == "MC1125"
    size.value = 0
    assert refused(launch, found, shape(), 0, ctypes.addressof(extra)) == (1, "MC1109")


def test_parameters_that_are_missing_or_given_twice(memory):
    found, params = function("fill"), ((memory, 1, 1), FILL)
    assert refused(launch, found, shape()) == (1, "MC1109")
    extra = packed(0)
    assert refused(launch, found, shape(), params, ctypes.addressof(extra)) == (1, "MC1110")
    unknown = packed(7, 7, 0)
    assert refused(launch, found, shape(), 0, ctypes.addressof(unknown)) == (1, "MC1112")
    assert accepted(launch, found, shape(), params) == ""


def test_a_parameter_that_cannot_be_read_is_named():
    words = (ctypes.c_void_p * 3)(ctypes.addressof(ctypes.c_uint64(0)), 8, 8)
    kept = ctypes.c_uint64(0)
    words[0] = ctypes.addressof(kept)
    answer = ask(launch, function("fill"), shape(), ctypes.addressof(words))
    assert (answer.status, answer.refused) == (1, ("MC003",))
    assert "kernel_params[1] 0x8" in answer.text


# ---- handles and contexts


def test_a_kernel_of_a_library_is_launched_in_any_context(memory):
    kernel = cu.CUfunction(int(ok(cu.cuLibraryGetKernel(library(), b"fill"))))
    assert accepted(launch, kernel, shape(), ((memory, 1, 9), FILL)) == ""
    assert device_bytes(memory, 2) == b"\x09\0"
    use(1)
    assert accepted(launch, kernel, shape(), ((memory, 0, 9), FILL)) == ""
    use(0)


def test_a_function_is_launched_in_its_own_context_only():
    found = function("nothing")
    use(1)
    stream = ok(cu.cuStreamCreate(0))
    assert refused(launch, found, shape(stream=stream)) == (400, "MC1120")
    assert refused(launch, 0, shape()) == (400, "MC1008")
    assert accepted(launch, function("nothing"), shape(stream=stream)) == ""
    ok(cu.cuStreamDestroy(stream))
    use(0)


def test_a_fault_names_kernel_line_and_thread():
    found = function("reads")
    ok(cu.cuLaunchKernel(found, *shape(), ((0x1000,), (ctypes.c_void_p,)), 0))
    answer = ask(cu.cuCtxSynchronize)
    assert answer.status == 700
    assert "kernel reads line " in answer.text
    assert "block (0, 0, 0), thread (0, 0, 0)" in answer.text
    assert ask(cu.cuLaunchKernel, found, *shape(), 0, 0).status == 700


def test_a_module_is_unloaded_once_its_kernels_are_over(memory):
    """A kernel waits for a byte that the host writes later; nothing that it needs goes before it ends."""
    host = int(ok(cu.cuMemAllocHost(8)))
    ctypes.memset(host, 0, 8)
    made = module(SPINS)
    found, stream = ok(cu.cuModuleGetFunction(made, b"spin")), ok(cu.cuStreamCreate(1))
    params = ((host, memory), (ctypes.c_void_p, ctypes.c_void_p))
    ok(cu.cuLaunchKernel(found, *shape(stream=stream), params, 0))
    threading.Timer(0.2, lambda: ctypes.memset(host, 1, 4)).start()
    began = time.monotonic()
    ok(cu.cuModuleUnload(made))
    assert time.monotonic() - began > 0.1
    assert device_bytes(memory, 4) == b"\x09\0\0\0"
    ok(cu.cuStreamDestroy(stream)), ok(cu.cuMemFreeHost(host))


# ---- attributes


def launch_ex(made, found, params=0):
    """Launch with a configuration and wait."""
    answer = cu.cuLaunchKernelEx(made, found, params, 0)
    cu.cuCtxSynchronize()
    return answer


@pytest.mark.parametrize(
    ("bad", "good", "answer"),
    [
        ({"a3": 1}, {"a0": 1}, (1, "MC1114")),
        ({"a13": 1}, {"a6": 1}, (801, "MC1126")),
        ({"a14": 101}, {"a14": 100}, (1, "MC1115")),
        ({"a5": 9}, {"a5": 2}, (1, "MC1115")),
        ({"a17": 3}, {"a17": 2}, (1, "MC1115")),
    ],
)
def test_attributes(bad, good, answer):
    found = function("nothing")
    assert refused(launch_ex, config(**bad), found) == answer
    assert accepted(launch_ex, config(**good), found) == ""


@pytest.mark.parametrize(
    ("grid", "bad", "good", "code"),
    [
        ((4, 1, 1), (3, 1, 1), (2, 1, 1), "MC1116"),
        ((16, 1, 1), (16, 1, 1), (8, 1, 1), "MC1117"),
        ((4, 1, 1), (0, 1, 1), (1, 1, 1), "MC1116"),
    ],
)
def test_clusters(grid, bad, good, code):
    found = function("nothing")
    assert refused(launch_ex, config(grid, a4=bad), found) == (912, code)
    assert accepted(launch_ex, config(grid, a4=good), found) == ""


def test_wide_clusters_are_allowed_by_the_function_or_the_launch():
    found, wide = function("nothing"), {"a4": (16, 1, 1)}
    assert accepted(launch_ex, config((16, 1, 1), **wide, a17=2), found) == ""
    assert refused(launch_ex, config((16, 1, 1), **wide), found) == (912, "MC1117")
    ok(cu.cuFuncSetAttribute(found, A.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1))
    assert accepted(launch_ex, config((16, 1, 1), **wide), found) == ""


def test_a_cluster_of_the_source_is_the_only_one():
    found = function("clustered")
    assert refused(launch_ex, config((4, 1, 1), a4=(4, 1, 1)), found) == (912, "MC1118")
    assert refused(launch, found, shape((3, 1, 1))) == (912, "MC1116")
    assert accepted(launch_ex, config((4, 1, 1), a4=(2, 1, 1)), found) == ""
    assert accepted(launch, found, shape((4, 1, 1))) == ""


def test_older_devices_have_no_clusters(start):
    sim.stop()
    start("hgx-a100-8", devices=1)
    use(0)
    found = function(
        "nothing", b".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\n\0"
    )
    assert refused(launch_ex, config((4, 1, 1), a4=(2, 1, 1)), found) == (801, "MC1119")
    assert accepted(launch_ex, config((4, 1, 1), a2=1), found) == ""


def test_a_cooperative_grid_is_resident_as_a_whole():
    found = function("nothing")
    most = 132 * ok(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(found, 1024, 0))
    for call in (
        lambda blocks: cu.cuLaunchCooperativeKernel(found, *shape((blocks, 1, 1), (1024, 1, 1)), 0),
        lambda blocks: cu.cuLaunchKernelEx(config((blocks, 1, 1), (1024, 1, 1), a2=1), found, 0, 0),
    ):
        assert refused(call, most + 1) == (720, "MC1113")
        assert accepted(call, most) == ""
        ok(cu.cuCtxSynchronize())


def test_events_of_attributes_keep_no_time():
    found, timed, plain = function("nothing"), ok(cu.cuEventCreate(0)), ok(cu.cuEventCreate(2))
    assert refused(launch_ex, config(a12=int(timed)), found) == (801, "MC1121")
    assert accepted(launch_ex, config(a12=int(plain)), found) == ""
    assert accepted(launch_ex, config(a7=int(plain)), found) == ""
    ok(cu.cuEventSynchronize(plain))
    ok(cu.cuEventDestroy(timed)), ok(cu.cuEventDestroy(plain))


# ---- occupancy


def test_occupancy_counts_threads_shared_memory_and_blocks():
    found = function("nothing")
    ask_blocks = cu.cuOccupancyMaxActiveBlocksPerMultiprocessor
    blocks = [ok(ask_blocks(found, *pair)) for pair in ((128, 0), (1024, 0), (32, 0), (128, 49152), (1025, 0))]
    assert blocks == [16, 2, 32, 4, 0]
    assert refused(ask_blocks, found, 0, 0) == (1, "MC1122")
    flags = cu.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    assert refused(flags, found, 128, 0, 2) == (1, "MC1123")
    assert accepted(flags, found, 128, 0, 1) == ""
    assert refused(ask_blocks, 0, 128, 0) == (400, "MC1008")
    kernel = cu.CUfunction(int(ok(cu.cuLibraryGetKernel(library(), b"nothing"))))
    assert ok(ask_blocks(kernel, 128, 0)) == 16


def test_a_launch_that_fills_the_device_is_suggested():
    assert ok(cu.cuOccupancyMaxPotentialBlockSize(function("nothing"), 0, 0, 0)) == (264, 1024)
    assert ok(cu.cuOccupancyMaxPotentialBlockSize(function("nothing"), 0, 0, 100)) == (132 * 32, 64)
    assert ok(cu.cuOccupancyMaxPotentialBlockSize(function("bounded"), 0, 0, 0)) == (132 * 16, 128)
    asked = []

    @ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)
    def shared(threads):
        asked.append(threads)
        return 40 * threads

    pointer = cu.CUoccupancyB2DSize(ctypes.cast(shared, ctypes.c_void_p).value)
    assert ok(cu.cuOccupancyMaxPotentialBlockSize(function("nothing"), pointer, 0, 0)) == (264, 1024)
    assert asked[0] == 1024


def test_the_shared_memory_that_blocks_leave_each_other():
    found, call = function("nothing"), cu.cuOccupancyAvailableDynamicSMemPerBlock
    assert [ok(call(found, *pair)) for pair in ((2, 128), (32, 32))] == [49152, 7296]
    assert refused(call, found, 33, 32) == (1, "MC1127")
    ok(cu.cuFuncSetAttribute(found, A.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448))
    assert ok(call(found, 2, 128)) == 116736


@pytest.mark.parametrize(("profile", "answer"), [("strict", (912, "MC1124")), ("hardware", None)])
def test_clusters_that_fit(profile, answer, start):
    sim.stop()
    start(devices=1, profile=profile)
    use(0)
    found, unnamed = function("nothing"), config(ONE, (128, 1, 1))
    counts = [ok(cu.cuOccupancyMaxActiveClusters(found, config(ONE, (128, 1, 1), a4=(n, 1, 1)))) for n in (1,)]
    assert counts == [1056]
    fitting = [
        ok(cu.cuOccupancyMaxActiveClusters(found, config((n, 1, 1), (128, 1, 1), a4=(n, 1, 1)))) for n in (2, 4, 8)
    ]
    assert fitting == [528, 248, 124]
    if answer:
        assert refused(cu.cuOccupancyMaxActiveClusters, found, unnamed) == answer
    else:
        assert ok(cu.cuOccupancyMaxActiveClusters(found, unnamed)) == 0
    assert ok(cu.cuOccupancyMaxPotentialClusterSize(found, unnamed)) == 8
    required = ok(cu.cuOccupancyMaxPotentialClusterSize(function("clustered"), config((2, 1, 1), (128, 1, 1))))
    assert required == (2 if profile == "strict" else 8)


# ---- linking


def linker(*images, log=None):
    """Make a linker with inputs."""
    options = [J.CU_JIT_ERROR_LOG_BUFFER, J.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES] if log is not None else []
    state = ok(cu.cuLinkCreate(len(options), options, [log, len(log)] if options else []))
    for number, image in enumerate(images):
        ok(cu.cuLinkAddData(state, PTX_INPUT, image, len(image), b"text%d" % number, 0, [], []))
    return state


def test_two_texts_become_one_module(memory):
    state = linker(WANTS, GIVES)
    image, size = ok(cu.cuLinkComplete(state))
    kept = ctypes.string_at(image, size)
    assert kept[:4] == b"\x7fELF"
    ok(cu.cuLinkDestroy(state))
    found = function("wants", kept)
    assert accepted(launch, found, shape(), ((memory,), (ctypes.c_void_p,))) == ""
    assert device_bytes(memory, 4) == b"\7\0\0\0"


def test_texts_that_do_not_fit():
    log = bytearray(300)
    state = linker(WANTS, log=log)
    assert refused(cu.cuLinkComplete, state) == (300, "MC1027")
    assert b"give" in log
    state = linker(GIVES)
    add = (PTX_INPUT, GIVES, len(GIVES), b"again", 0, [], [])
    assert refused(cu.cuLinkAddData, state, *add) == (300, "MC1027")
    assert refused(cu.cuLinkComplete, state) == (300, "MC1027")
    assert accepted(cu.cuLinkComplete, linker(GIVES, WANTS)) == ""


def test_inputs_that_are_not_linked(tmp_path):
    state, path = linker(), tmp_path / "give.ptx"
    path.write_bytes(GIVES)
    given = (GIVES, len(GIVES), b"x", 0, [], [])
    assert refused(cu.cuLinkAddData, state, NVVM_INPUT, *given) == (221, "MC1028")
    assert refused(cu.cuLinkAddData, state, LIBRARY_INPUT, *given) == (1, "MC1023")
    assert refused(cu.cuLinkAddFile, state, PTX_INPUT, b"/nonexistent.ptx", 0, [], []) == (301, "MC1016")
    assert refused(cu.cuLinkAddData, state, PTX_INPUT, BROKEN, len(BROKEN), b"x", 0, [], []) == (218, "MC1002")
    target = (1, [J.CU_JIT_TARGET], [cu.CUjit_target(90)])
    assert refused(cu.cuLinkAddData, state, PTX_INPUT, *given[:3], *target) == (1, "MC1021")
    level = (1, [J.CU_JIT_OPTIMIZATION_LEVEL], [3])
    assert accepted(cu.cuLinkAddFile, state, PTX_INPUT, str(path).encode(), *level) == ""
    for call in (cu.cuLinkComplete, cu.cuLinkDestroy):
        assert refused(call, 0) == (400, "MC1022")
        assert accepted(call, state) == ""


def test_nothing_can_be_linked_too():
    image, size = ok(cu.cuLinkComplete(linker()))
    assert ok(cu.cuModuleGetFunctionCount(module(ctypes.string_at(image, size)))) == 0
