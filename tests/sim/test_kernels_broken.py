"""Kernels and images that are wrong, huge or damaged: each is answered in time, and nothing else suffers."""

from __future__ import annotations

import ctypes
import random
import struct

import pytest
from cuda.bindings import driver as cu

from answers import ok, status
from cumulticast.ptx.image import Image
from cumulticast.sim import cubins, fatbin
from cumulticast.sim.images import Text

pytestmark = pytest.mark.timeout(60)
HEAD = b".version 8.0\n.target sm_90\n.address_size 64\n"
NOTHING = HEAD + b".visible .entry nothing() { ret; }\n\0"
WORKSPACE = (
    HEAD
    + b""".visible .entry tells(.param .u64 p)
{
  .reg .b32 %r; .reg .b64 %d;
  ld.param.u64 %d, [p];
  mov.u32 %r, %envreg1;
  st.global.u32 [%d], %r;
  mov.u32 %r, %envreg2;
  st.global.u32 [%d+4], %r;
  ret;
}
\0"""
)
KNOWN_ANSWERS = {0, 1, 200, 209, 218}


def in_fatbin(text: bytes, flags: int = 0, size: int = 0) -> bytes:
    """Put a text into a fatbin."""
    layout = struct.Struct("<HHIQII4xI8xQ8xQ")
    entry = layout.pack(fatbin.PTX, 0x101, layout.size, len(text), len(text), 0, 90, flags, size) + text
    return fatbin.HEADER.pack(fatbin.MAGIC, 1, fatbin.HEADER.size, len(entry)) + entry


IMAGES = {
    "text": NOTHING,
    "fatbin": in_fatbin(NOTHING),
    "lz4": in_fatbin(NOTHING, fatbin.LZ4, 1 << 40),
    "zstd": in_fatbin(b"\x28\xb5\x2f\xfd" + NOTHING, fatbin.ZSTD, 1 << 40),
    "elf": cubins.write([Text(NOTHING, "nothing")]),
}


def load(image: bytes) -> int:
    """Load an image with a page of zeros behind it, and unload it; answer the status."""
    answer = cu.cuModuleLoadData(image + bytes(4096))
    if not status(answer):
        ok(cu.cuModuleUnload(answer[1]))
    return status(answer)


def damage(image: bytes, dice: random.Random) -> bytes:
    """Change a few fields, behind the first word."""
    found = bytearray(image)
    for _ in range(dice.randrange(1, 4)):
        at, size = dice.randrange(4, min(len(found), 100)), dice.choice([1, 2, 4, 8])
        found[at : at + size] = dice.choice([bytes(size), b"\xff" * size, dice.randbytes(size)])
    return bytes(found)


@pytest.mark.parametrize("name", ["text", "fatbin", "elf"])
def test_an_image_loads_whole(context, name):
    assert load(IMAGES[name]) == 0


@pytest.mark.parametrize("name", IMAGES)
def test_damaged_images_are_refused_not_stumbled_over(context, cuda_machine, name):
    dice = random.Random(name)
    answers = {load(damage(IMAGES[name], dice)) for _ in range(150)}
    assert answers <= KNOWN_ANSWERS
    assert len(answers) > 1


@pytest.mark.parametrize(
    "image",
    [
        fatbin.HEADER.pack(fatbin.MAGIC, 1, 0, 0),
        fatbin.HEADER.pack(fatbin.MAGIC, 1, 16, (1 << 64) - 1),
        cubins.HEADER.pack(cubins.MAGIC.ljust(16, b"\0"), 2, cubins.CUDA, *[0] * 11),
        cubins.HEADER.pack(cubins.MAGIC.ljust(16, b"\0"), 2, cubins.CUDA, 1, 0, 0, (1 << 64) - 1, *[0] * 4, 64, 9, 1),
    ],
    ids=["fatbin without a header", "fatbin without an end", "empty ELF", "ELF without an end"],
)
def test_a_header_that_contradicts_itself(context, image):
    assert load(image) in KNOWN_ANSWERS - {0}


def test_the_workspace_of_a_cooperative_grid_is_not_left_to_the_next_launch(context):
    kernel, memory = (
        ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData(WORKSPACE)), b"tells")),
        int(ok(cu.cuMemAllocHost(8))),
    )
    arguments = ((memory,), (ctypes.c_void_p,))
    ok(cu.cuLaunchCooperativeKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, arguments))
    ok(cu.cuCtxSynchronize())
    assert ctypes.c_uint64.from_address(memory).value != 0
    ok(cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0))
    ok(cu.cuCtxSynchronize())
    assert ctypes.c_uint64.from_address(memory).value == 0
    ok(cu.cuMemFreeHost(memory))


def test_a_text_of_two_thousand_kernels_loads():
    text = HEAD + b"".join(b".visible .entry k%d() { ret; }\n" % n for n in range(2000))
    assert len(Image.load(text, 90).kernels) == 2000


def in_a_row(stores: int) -> bytes:
    """Write a kernel with many stores, none of which is like another."""
    body = b"".join(b"add.u32 %%r, %%r, %d;\nst.global.u32 [%%d+%d], %%r;\n" % (n, 4 * n) for n in range(stores))
    start = b".reg .b32 %r; .reg .b64 %d;\nld.param.u64 %d, [p];\nmov.u32 %r, 0;\n"
    return HEAD + b".visible .entry stores(.param .u64 p)\n{\n" + start + body + b"ret;\n}\n\0"


def test_a_kernel_of_thousands_of_lines_is_right(context, monkeypatch):
    monkeypatch.setenv("CUDA_CACHE_DISABLE", "1")
    count, memory = 1500, int(ok(cu.cuMemAllocHost(4 * 1500)))
    kernel = ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData(in_a_row(count))), b"stores"))
    ok(cu.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, 0, ((memory,), (ctypes.c_void_p,)), 0))
    ok(cu.cuCtxSynchronize())
    assert list((ctypes.c_uint32 * count).from_address(memory)) == [n * (n + 1) // 2 for n in range(count)]
    ok(cu.cuMemFreeHost(memory))
