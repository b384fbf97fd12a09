"""Modules and libraries: loading, looking up, attributes; each rule with the neighbour that it lets through."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest
from builders import accepted, ask, refused, use
from cuda.bindings import driver as cu
from kernel_texts import BROKEN, HEAD, KERNELS, PTX, device_bytes, function, library, module, shape

from answers import ok, status
from cumulticast import sim

FATBINS = Path(__file__).parents[1] / "data" / "fatbins"
A, J = cu.CUfunction_attribute, cu.CUjit_option
DYNAMIC, REGISTERS, WIDTH = (
    A.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
    A.CU_FUNC_ATTRIBUTE_NUM_REGS,
    A.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
)


@pytest.fixture(autouse=True)
def current(hardware) -> None:
    use(0)


# ---- images


def elf(machine: int) -> bytes:
    """Make the head of an ELF file and nothing else."""
    return struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, machine, 1, 0, 0, 64, 0, 64, 0, 0, 64, 0, 0)


@pytest.mark.parametrize(
    ("image", "answer"),
    [
        (b"not a module\0", (200, "MC1001")),
        (b"\0", (200, "MC1001")),
        (elf(62), (200, "MC1001")),
        (elf(190), (209, "MC1004")),
        (BROKEN, (218, "MC1002")),
        (PTX.replace(b"sm_90", b"sm_100"), (218, "MC1002")),
        (PTX.replace(b"8.0", b"99.0"), (222, "MC1003")),
    ],
    ids=["garbage", "empty", "a host's ELF", "SASS", "broken", "newer target", "newer version"],
)
def test_images_that_cannot_be_used(image, answer):
    assert refused(cu.cuModuleLoadData, image) == answer
    assert accepted(cu.cuModuleLoadData, PTX) == ""


def test_the_log_names_the_line_as_ptxas_does():
    assert "ptxas application ptx input, line 5; error   : " in ask(cu.cuModuleLoadData, BROKEN).text


def test_a_cubin_is_answered_with_the_way_to_ptx():
    text = ask(cu.cuModuleLoadData, elf(190)).text
    assert "compile to PTX (nvcc -ptx, nvrtcGetPTX, compile('ptx'))" in text


@pytest.mark.parametrize("name", ["plain", "lz4", "zstd"])
def test_a_fatbin_gives_its_ptx(name):
    data = (FATBINS / f"{name}.fatbin").read_bytes()
    assert ok(cu.cuModuleGetFunctionCount(ok(cu.cuModuleLoadData(data)))) == 62
    held = ctypes.create_string_buffer(data)
    wrapper = ctypes.create_string_buffer(struct.pack("<IIQQ", 0x466243B1, 1, ctypes.addressof(held), 0))
    assert ok(cu.cuModuleGetFunctionCount(ok(cu.cuModuleLoadFatBinary(ctypes.addressof(wrapper))))) == 62


def test_a_fatbin_for_newer_devices_has_nothing_for_this_one():
    data = bytearray((FATBINS / "plain.fatbin").read_bytes())
    data[16 + 28] = 120
    assert refused(cu.cuModuleLoadData, bytes(data)) == (209, "MC1004")


def test_files(tmp_path):
    path = tmp_path / "kernel.ptx"
    path.write_bytes(PTX)
    assert refused(cu.cuModuleLoad, b"/nonexistent.ptx") == (301, "MC1016")
    assert accepted(cu.cuModuleLoad, str(path).encode()) == ""
    preserved = [cu.CUlibraryOption.CU_LIBRARY_BINARY_IS_PRESERVED]
    assert refused(cu.cuLibraryLoadFromFile, str(path).encode(), [], [], 0, preserved, [1], 1) == (1, "MC1025")
    assert accepted(cu.cuLibraryLoadFromFile, str(path).encode(), [], [], 0, [], [], 0) == ""
    assert accepted(cu.cuLibraryLoadData, PTX, [], [], 0, preserved, [1], 1) == ""


# ---- options of the compiler


def test_the_error_log_is_filled_though_the_call_fails():
    log = bytearray(b"\xff" * 400)
    options = [J.CU_JIT_ERROR_LOG_BUFFER, J.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
    assert refused(cu.cuModuleLoadDataEx, BROKEN, 2, options, [log, 400]) == (218, "MC1002")
    first, last = bytes(log).split(b"\0")[0].decode().splitlines()
    assert first.startswith("ptxas application ptx input, line 5; error   : ")
    assert last == "ptxas fatal   : Ptx assembly aborted due to errors"
    assert accepted(cu.cuModuleLoadDataEx, PTX, 2, options, [log, 400]) == ""
    assert log[0] == 0


def test_a_log_is_cut_to_its_buffer_and_its_size_comes_back():
    raw = ctypes.CDLL("libcuda.so.1").cuModuleLoadDataEx
    room, module = ctypes.create_string_buffer(b"\xff" * 20, 20), ctypes.c_void_p(77)
    options = (ctypes.c_int * 3)(5, 6, 2)
    values = (ctypes.c_uint64 * 3)(ctypes.addressof(room), 10, 0)
    assert raw(ctypes.byref(module), BROKEN, 3, options, values) == 218
    assert room.raw == b"ptxas app\0" + b"\xff" * 10
    assert values[1] == 9
    assert 0 < struct.unpack("<f", struct.pack("<Q", values[2])[:4])[0] < 60_000
    assert module.value == 77, "the module is written although there is none"


def test_the_info_log_tells_what_each_kernel_takes():
    log = bytearray(4000)
    options = [J.CU_JIT_INFO_LOG_BUFFER, J.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, J.CU_JIT_LOG_VERBOSE]
    ok(cu.cuModuleLoadDataEx(PTX, 3, options, [log, 4000, 1]))
    assert b"ptxas info    : Compiling entry function 'shared' for 'sm_90'" in log
    assert b"1024 bytes smem" in log


def test_options_that_are_none_or_alone():
    raw = ctypes.CDLL("libcuda.so.1").cuModuleLoadDataEx
    made, values = ctypes.c_void_p(0), (ctypes.c_void_p * 1)(0)
    for number, answer in ((36, (1, "MC1018")), (35, None)):
        call = (lambda option: lambda: (cu.CUresult(raw(ctypes.byref(made), PTX, 1, option, values)),))(
            (ctypes.c_int * 1)(number)
        )
        assert (refused(call) if answer else None) == answer
    assert refused(lambda: (cu.CUresult(raw(ctypes.byref(made), PTX, 1, None, None)),)) == (1, "MC1020")
    alone = [J.CU_JIT_ERROR_LOG_BUFFER]
    assert refused(cu.cuModuleLoadDataEx, PTX, 1, alone, [bytearray(100)]) == (1, "MC1019")
    assert accepted(cu.cuModuleLoadDataEx, PTX, 0, [], []) == ""


# ---- what is in a module


def test_functions_and_variables_are_found_by_name():
    made = module()
    assert ok(cu.cuModuleGetFunctionCount(made)) == len(KERNELS)
    assert refused(cu.cuModuleGetFunction, made, b"filk") == (500, "MC1006")
    assert "nearest fill" in ask(cu.cuModuleGetFunction, made, b"filk").text
    assert ok(cu.cuFuncGetName(ok(cu.cuModuleGetFunction(made, b"fill")))) == b"fill"
    assert refused(cu.cuModuleGetGlobal, made, b"absent") == (500, "MC1007")
    address, size = ok(cu.cuModuleGetGlobal(made, b"place"))
    assert (device_bytes(address, size), size) == (struct.pack("<4I", 1, 2, 3, 0), 16)
    ok(cu.cuModuleUnload(made))


def test_variables_hold_addresses_of_others():
    made = module()
    place, fixed = (int(ok(cu.cuModuleGetGlobal(made, name))[0]) for name in (b"place", b"fixed"))
    address, size = ok(cu.cuModuleGetGlobal(made, b"links"))
    assert struct.unpack("<2Q", device_bytes(address, size)) == (place + 4, fixed)
    assert struct.unpack("<I", device_bytes(fixed, 4)) == (7,)


def test_a_variable_is_memory_that_only_its_module_frees():
    made, before = module(), ok(cu.cuMemGetInfo())
    address, size = ok(cu.cuModuleGetGlobal(made, b"place"))
    ok(cu.cuMemsetD8(address, 1, size))
    assert refused(cu.cuMemFree, address) == (1, "MC982")
    ok(cu.cuModuleUnload(made))
    assert status(cu.cuMemsetD8(address, 1, size)) == 1
    assert ok(cu.cuMemGetInfo())[0] > before[0]


def test_managed_variables_are_the_hosts_too():
    made = library()
    address, size = ok(cu.cuLibraryGetManaged(made, b"shown"))
    assert ctypes.c_uint32.from_address(int(address)).value == 5
    assert size == 4
    assert refused(cu.cuLibraryGetManaged, made, b"place") == (500, "MC1007")


def test_handles_that_are_none():
    function_, library_, kernel = function("nothing"), library(), None
    kernel = ok(cu.cuLibraryGetKernel(library_, b"nothing"))
    for call, code, *good in (
        (lambda h: cu.cuModuleGetFunction(h, b"nothing"), "MC1005", module()),
        (lambda h: cu.cuFuncGetAttribute(REGISTERS, h), "MC1008", function_),
        (lambda h: cu.cuLibraryGetKernel(h, b"nothing"), "MC1009", library_),
        (lambda h: cu.cuKernelGetAttribute(REGISTERS, h, 0), "MC1010", kernel),
    ):
        for bad in (0, 0x1234):
            assert refused(call, bad) == (400, code)
        assert accepted(call, *good) == ""


def test_unloading():
    made = module()
    found = ok(cu.cuModuleGetFunction(made, b"nothing"))
    ok(cu.cuModuleUnload(made))
    assert refused(cu.cuModuleUnload, made) == (400, "MC1005")
    assert refused(cu.cuLaunchKernel, found, *shape(), 0, 0) == (400, "MC1008")


def test_modules_end_with_their_context():
    other = ok(cu.cuCtxCreate(None, 0, 1))
    made, kept = module(), library()
    ok(cu.cuLibraryGetModule(kept))
    ok(cu.cuCtxDestroy(other))
    assert refused(cu.cuModuleUnload, made) == (400, "MC1005")
    use(0)
    assert accepted(cu.cuLibraryGetModule, kept) == ""


# ---- attributes


def test_attributes_tell_what_the_text_asks_for():
    made = module()
    shared = ok(cu.cuModuleGetFunction(made, b"shared"))
    values = [ok(cu.cuFuncGetAttribute(A(number), shared)) for number in (0, 1, 5, 6, 8, 9)]
    assert values == [1024, 1024, 90, 90, 48128, -1]
    assert ok(cu.cuFuncGetAttribute(A(2), shared)) == 4  # constant memory
    assert ok(cu.cuFuncGetAttribute(A(0), ok(cu.cuModuleGetFunction(made, b"bounded")))) == 128
    clustered = ok(cu.cuModuleGetFunction(made, b"clustered"))
    assert [ok(cu.cuFuncGetAttribute(A(number), clustered)) for number in (10, 11, 12, 13)] == [1, 2, 1, 1]


def test_attributes_that_are_none_or_read_only():
    found = function("shared")
    assert refused(cu.cuFuncGetAttribute, A.CU_FUNC_ATTRIBUTE_MAX, found) == (1, "MC1012")
    assert refused(cu.cuFuncSetAttribute, found, REGISTERS, 8) == (1, "MC1013")
    assert refused(cu.cuFuncSetAttribute, found, DYNAMIC, 231425) == (1, "MC1014")
    assert accepted(cu.cuFuncSetAttribute, found, DYNAMIC, 231424) == ""
    assert ok(cu.cuFuncGetAttribute(DYNAMIC, found)) == 231424


@pytest.mark.parametrize(("profile", "answer"), [("hardware", (1, "MC1026")), ("strict", (800, "MC1015"))])
def test_a_cluster_of_the_source_stays(profile, answer, start):
    sim.stop()
    start(devices=1, profile=profile)
    use(0)
    assert refused(cu.cuFuncSetAttribute, function("clustered"), WIDTH, 4) == answer
    assert accepted(cu.cuFuncSetAttribute, function("nothing"), WIDTH, 4) == ""


def test_listed_functions_are_loaded_when_they_are_wanted():
    made = module()
    listed = ok(cu.cuModuleEnumerateFunctions(2, made))
    assert [ok(cu.cuFuncGetName(one)) for one in listed] == [b"nothing", b"fill"]
    assert ok(cu.cuFuncIsLoaded(listed[0])) == 0
    assert refused(cu.cuFuncGetAttribute, A(0), listed[0]) == (913, "MC1024")
    assert accepted(cu.cuFuncGetAttribute, A(1), listed[0]) == ""
    ok(cu.cuFuncLoad(listed[0]))
    assert ok(cu.cuFuncIsLoaded(listed[0])) == 1
    assert accepted(cu.cuFuncGetAttribute, A(0), listed[0]) == ""


def test_parameters_are_described():
    found = function("fill")
    assert ok(cu.cuFuncGetParamCount(found)) == 3
    assert [ok(cu.cuFuncGetParamInfo(found, index)) for index in range(3)] == [(0, 8), (8, 4), (12, 1)]
    assert refused(cu.cuFuncGetParamInfo, found, 3) == (1, "MC1017")


# ---- libraries


def test_a_library_is_read_when_a_kernel_is_wanted():
    bad = library(BROKEN)
    assert ok(cu.cuLibraryGetKernelCount(bad)) == 0
    assert refused(cu.cuLibraryGetKernel, bad, b"f") == (218, "MC1002")
    good = library()
    assert ok(cu.cuLibraryGetKernelCount(good)) == len(KERNELS)
    assert accepted(cu.cuLibraryGetKernel, good, b"fill") == ""


def test_eager_loading_finds_out_at_once(monkeypatch):
    assert ok(cu.cuModuleGetLoadingMode()) == cu.CUmoduleLoadingMode.CU_MODULE_LAZY_LOADING
    monkeypatch.setenv("CUDA_MODULE_LOADING", "EAGER")
    assert ok(cu.cuModuleGetLoadingMode()) == cu.CUmoduleLoadingMode.CU_MODULE_EAGER_LOADING
    assert refused(cu.cuLibraryLoadData, BROKEN, [], [], 0, [], [], 0) == (218, "MC1002")
    assert accepted(cu.cuLibraryLoadData, PTX, [], [], 0, [], [], 0) == ""


def test_each_context_has_its_own_module_of_a_library():
    made = library()
    first = int(ok(cu.cuLibraryGetGlobal(made, b"place"))[0])
    kernel = ok(cu.cuLibraryGetKernel(made, b"nothing"))
    one = ok(cu.cuKernelGetFunction(kernel))
    use(1)
    second = int(ok(cu.cuLibraryGetGlobal(made, b"place"))[0])
    other = ok(cu.cuKernelGetFunction(kernel))
    assert first != second
    assert int(one) != int(other)
    assert int(ok(cu.cuFuncGetModule(other))) == int(ok(cu.cuLibraryGetModule(made)))
    assert int(ok(cu.cuKernelGetLibrary(kernel))) == int(made)


def test_what_belongs_to_a_library_goes_with_it():
    made = library()
    own = ok(cu.cuLibraryGetModule(made))
    assert refused(cu.cuModuleUnload, own) == (800, "MC1011")
    assert refused(cu.cuLibraryGetUnifiedFunction, made, b"nothing") == (1, "MC1029")
    ok(cu.cuLibraryUnload(made))
    assert refused(cu.cuModuleGetFunction, own, b"nothing") == (400, "MC1005")


def test_a_function_s_own_setting_goes_before_its_kernel_s():
    made = library()
    kernel = ok(cu.cuLibraryGetKernel(made, b"nothing"))
    found = ok(cu.cuKernelGetFunction(kernel))
    ok(cu.cuKernelSetAttribute(DYNAMIC, 60000, kernel, 0))
    assert ok(cu.cuFuncGetAttribute(DYNAMIC, found)) == 60000
    assert ok(cu.cuKernelGetAttribute(DYNAMIC, kernel, 1)) == 49152
    ok(cu.cuFuncSetAttribute(found, DYNAMIC, 70000))
    assert ok(cu.cuKernelGetAttribute(DYNAMIC, kernel, 0)) == 60000
    assert ok(cu.cuFuncGetAttribute(DYNAMIC, found)) == 70000
    assert refused(cu.cuKernelGetAttribute, DYNAMIC, kernel, 2) == (101, "MC004")


def test_an_empty_text_has_no_kernels():
    made = module(HEAD.encode() + b"\0")
    assert ok(cu.cuModuleGetFunctionCount(made)) == 0
    assert "(there is none)" in ask(cu.cuModuleGetFunction, made, b"f").text
