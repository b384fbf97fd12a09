"""cuda.core's graphs, unmodified: built by capture and by hand, forked and joined, updated, embedded."""

from __future__ import annotations

import numpy as np
import pytest
from cuda.bindings import driver as cu

from answers import ok

core = pytest.importorskip("cuda.core")
ORDINAL = 2  # see conftest.py
graphs = pytest.importorskip("cuda.core.graph")
PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 p, .param .u32 n) {
    .reg .b64 %rd<2>; .reg .b32 %r<4>;
    ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];
    ld.global.u32 %r2, [%rd1]; add.u32 %r3, %r2, %r1; st.global.u32 [%rd1], %r3; ret;
}
.visible .entry sum(.param .u64 p) {
    .reg .b64 %rd<2>; .reg .b32 %r<4>;
    ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4];
    add.u32 %r3, %r1, %r2; st.global.u32 [%rd1+8], %r3; ret;
}
"""
ONE = core.LaunchConfig(grid=1, block=1)


@pytest.fixture(scope="module")
def kernels(device):
    module = core.ObjectCode.from_ptx(PTX.encode())
    return {name: module.get_kernel(name) for name in ("add", "sum")}


@pytest.fixture
def stream(device):
    made = device.create_stream()
    yield made
    made.close()


@pytest.fixture
def words(device, stream):
    made = device.allocate(64, stream=stream)
    made.fill(0, stream=stream)
    stream.sync()
    yield made
    made.close(stream)
    stream.sync()


def read(words, count: int) -> list[int]:
    data = bytearray(4 * count)
    ok(cu.cuMemcpyDtoH(data, int(words.handle), len(data)))
    return [int.from_bytes(data[k : k + 4], "little") for k in range(0, len(data), 4)]


def address(words, index: int) -> np.uint64:
    return np.uint64(int(words.handle) + 4 * index)


def test_a_builder_captures_forks_and_joins(device, kernels, stream, words):
    builder = device.create_graph_builder().begin_building()
    core.launch(builder, ONE, kernels["add"], address(words, 0), np.uint32(1))
    left, right = builder.split(2)
    core.launch(left, ONE, kernels["add"], address(words, 0), np.uint32(2))
    core.launch(right, ONE, kernels["add"], address(words, 1), np.uint32(5))
    builder = graphs.GraphBuilder.join(left, right)
    core.launch(builder, ONE, kernels["sum"], address(words, 0))
    graph = builder.end_building().complete()
    assert read(words, 3) == [0, 0, 0]
    graph.upload(stream)
    graph.launch(stream), graph.launch(stream)
    stream.sync()
    assert read(words, 3) == [6, 10, 16]
    graph.close(), builder.close()


def test_python_functions_run_in_a_graph_and_are_let_go_with_it(device, stream):
    seen = []
    builder = device.create_graph_builder().begin_building()
    builder.callback(lambda: seen.append(1))
    graph = builder.end_building().complete()
    graph.launch(stream), graph.launch(stream)
    stream.sync()
    assert seen == [1, 1]
    graph.close(), builder.close()


def test_an_executable_graph_is_updated_from_another_builder(device, kernels, stream, words):
    def built(value: int):
        builder = device.create_graph_builder().begin_building()
        core.launch(builder, ONE, kernels["add"], address(words, 0), np.uint32(value))
        return builder.end_building()

    first, second = built(1), built(10)
    graph = first.complete()
    graph.launch(stream)
    graph.update(second)
    graph.launch(stream)
    stream.sync()
    assert read(words, 1) == [11]
    graph.close(), first.close(), second.close()


def test_a_graph_is_embedded_in_another(device, kernels, stream, words):
    child = device.create_graph_builder().begin_building()
    core.launch(child, ONE, kernels["add"], address(words, 0), np.uint32(3))
    child.end_building()
    parent = device.create_graph_builder().begin_building()
    core.launch(parent, ONE, kernels["add"], address(words, 1), np.uint32(4))
    parent.embed(child)
    core.launch(parent, ONE, kernels["sum"], address(words, 0))
    graph = parent.end_building().complete()
    graph.launch(stream)
    stream.sync()
    assert read(words, 3) == [3, 4, 7]
    graph.close(), parent.close(), child.close()


def test_a_definition_is_built_by_hand_and_shows_its_nodes(device, kernels, stream, words, tmp_path):
    definition = graphs.GraphDefinition()
    first = definition.launch(ONE, kernels["add"], address(words, 0), np.uint32(2))
    second = first.launch(ONE, kernels["sum"], address(words, 0))
    assert {type(node).__name__ for node in definition.nodes()} == {"KernelNode"}
    assert [tuple(map(int, (a.handle, b.handle))) for a, b in definition.edges()] == [
        (int(first.handle), int(second.handle))
    ]
    assert int(first.kernel.handle) == int(kernels["add"].handle)
    graph = definition.instantiate()
    graph.launch(stream)
    stream.sync()
    assert read(words, 3) == [2, 0, 2]
    path = tmp_path / "graph.dot"
    definition.debug_dot_print(str(path))
    assert "->" in path.read_text()
    graph.close()
