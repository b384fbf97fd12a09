"""cuda.core 1.2.2 and NVIDIA's second bindings, unmodified: C++ compiled by NVRTC, launched, asked about, linked."""

import ctypes
import warnings

import numpy as np
import pytest
from cuda.bindings import driver as cu
from cuda.bindings._v2 import driver

from answers import ok

core = pytest.importorskip("cuda.core")
ORDINAL = 1  # see conftest.py
pytest.importorskip("cuda.bindings.nvrtc")
SAXPY = """extern "C" __global__ void saxpy(const float a, const float *x, float *y, size_t n) {
    for (size_t i = threadIdx.x + size_t(blockIdx.x) * blockDim.x; i < n; i += size_t(gridDim.x) * blockDim.x)
        y[i] = a * x[i] + y[i];
}"""
COUNT = 1000


@pytest.fixture
def stream(device):
    made = device.create_stream()
    yield made
    made.close()


@pytest.fixture
def buffers(device, stream):
    """Two arrays of COUNT floats: 0, 1, 2, … and ones."""
    arrays = np.arange(COUNT, dtype=np.float32), np.ones(COUNT, np.float32)
    made = [device.allocate(array.nbytes, stream=stream) for array in arrays]
    for buffer, array in zip(made, arrays, strict=True):
        ok(cu.cuMemcpyHtoD(int(buffer.handle), array.ctypes.data, array.nbytes))
    yield made
    for buffer in made:
        buffer.close(stream)


def read(buffer, dtype=np.float32, count=COUNT):
    out = np.empty(count, dtype)
    ok(cu.cuMemcpyDtoH(out.ctypes.data, int(buffer.handle), out.nbytes))
    return out


def compiled(source, **options):
    return core.Program(source, "c++", core.ProgramOptions(arch="sm_90", **options)).compile("ptx")


def test_a_program_is_compiled_and_launched(stream, buffers):
    kernel, (x, y) = compiled(SAXPY).get_kernel("saxpy"), buffers
    config = core.LaunchConfig(grid=4, block=128)
    core.launch(stream, config, kernel, np.float32(3), x, y, np.uint64(COUNT))
    stream.sync()
    assert (read(y) == 3 * np.arange(COUNT) + 1).all()


def test_a_kernel_tells_what_it_takes(stream, device):
    kernel = compiled(SAXPY).get_kernel("saxpy")
    attributes = kernel.attributes
    assert attributes.max_threads_per_block == 1024
    assert attributes.ptx_version == attributes.binary_version == 90
    assert attributes.max_dynamic_shared_size_bytes == 49152
    assert kernel.num_arguments == 4
    assert [(info.offset, info.size) for info in kernel.arguments_info] == [(0, 4), (8, 8), (16, 8), (24, 8)]
    occupancy = kernel.occupancy
    assert occupancy.max_active_blocks_per_multiprocessor(128, 0) == 16
    assert occupancy.max_potential_block_size(0, 0).max_block_size == 1024
    config = core.LaunchConfig(grid=4, cluster=2, block=128)
    assert occupancy.max_potential_cluster_size(config, stream=stream) == 8
    assert occupancy.max_active_clusters(config, stream=stream) == 528


@pytest.mark.parametrize(
    "options", [{"cluster": 2}, {"is_cooperative": True}, {"programmatic_stream_serialization": True}]
)
def test_launches_of_every_kind(stream, buffers, options):
    kernel, (x, y) = compiled(SAXPY).get_kernel("saxpy"), buffers
    core.launch(stream, core.LaunchConfig(grid=2, block=64, **options), kernel, np.float32(2), x, y, np.uint64(COUNT))
    stream.sync()
    assert (read(y) == 2 * np.arange(COUNT) + 1).all()


def test_templates_are_found_by_expression(stream, buffers):
    module = core.Program(
        "template<typename T> __global__ void put(T *p) { *p = T(7); }", "c++", core.ProgramOptions(arch="sm_90")
    ).compile("ptx", name_expressions=("put<int>",))
    core.launch(stream, core.LaunchConfig(grid=1, block=1), module.get_kernel("put<int>"), buffers[1])
    stream.sync()
    assert read(buffers[1], np.int32, 1)[0] == 7


def test_two_programs_are_linked(stream, buffers):
    parts = [
        compiled('extern "C" __device__ int add(int a, int b) { return a + b; }', relocatable_device_code=True),
        compiled(
            'extern "C" __device__ int add(int, int); extern "C" __global__ void put(int *p) { *p = add(3, 4); }',
            relocatable_device_code=True,
        ),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nvJitLink is missing: the driver links
        linker = core.Linker(*parts, options=core.LinkerOptions(arch="sm_90"))
    kernel = linker.link("cubin").get_kernel("put")
    core.launch(stream, core.LaunchConfig(grid=1, block=1), kernel, buffers[1])
    stream.sync()
    assert read(buffers[1], np.int32, 1)[0] == 7


def test_a_broken_text_raises(device):
    with pytest.raises(Exception, match="INVALID_PTX"):
        core.ObjectCode.from_ptx(b".version 8.0\n.target sm_90\nnonsense\n\0").get_kernel("f")


def test_the_second_bindings_launch_too(stream, buffers):
    image = bytes(compiled(SAXPY).code) + b"\0"
    held = ctypes.create_string_buffer(image)
    module = driver.module_load_data(ctypes.addressof(held))
    function = driver.module_get_function(module, b"saxpy")
    values = np.float32(5), *(np.uint64(int(buffer.handle)) for buffer in buffers), np.uint64(COUNT)
    kept = [np.array(value) for value in values]
    pointers = (ctypes.c_void_p * 4)(*(value.ctypes.data for value in kept))
    driver.launch_kernel(function, 4, 1, 1, 128, 1, 1, 0, int(stream.handle), ctypes.addressof(pointers), 0)
    stream.sync()
    assert (read(buffers[1]) == 5 * np.arange(COUNT) + 1).all()
    driver.module_unload(module)
