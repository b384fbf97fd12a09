"""Kernels of ranks whose partners die, or take memory away, while they run."""

from __future__ import annotations

import signal

import pytest
from on_ranks import on_ranks

pytestmark = pytest.mark.timeout(60)
PART = '''
    import contextlib, ctypes, signal, socket, time
    from cuda.bindings import driver as cu

    def ok(answer):
        assert int(answer[0]) == 0, answer
        return answer[1] if len(answer) == 2 else answer[1:]

    TEXT = b""".version 8.1
    .target sm_90
    .address_size 64
    .visible .entry meet(.param .u64 all, .param .u64 own, .param .u32 ranks)
    {
      .reg .pred %q; .reg .b32 %n, %seen; .reg .b64 %a, %o;
      ld.param.u64 %a, [all];
      ld.param.u64 %o, [own];
      ld.param.u32 %n, [ranks];
      multimem.red.release.sys.global.add.u32 [%a], 1;
    again:
      ld.acquire.sys.global.u32 %seen, [%o];
      setp.lt.u32 %q, %seen, %n;
      @%q bra again;
      ret;
    }
    """
    RANK, SIZE = int(os.environ["RANK"]), 2 << 20
    place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    if RANK == 0:
        with socket.create_server(place) as door:
            partner, _ = door.accept()
    else:
        while True:
            with contextlib.suppress(OSError):
                partner = socket.create_connection(place)
                break
            time.sleep(0.01)
    FABRIC = cu.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_FABRIC
    ok(cu.cuInit(0))
    device = ok(cu.cuDeviceGet(RANK))
    ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(device))))

    def mapped(handle):
        address = int(ok(cu.cuMemAddressReserve(SIZE, 0, 0, 0)))
        ok(cu.cuMemMap(address, SIZE, 0, handle, 0))
        access = cu.CUmemAccessDesc()
        access.location = kind.location
        access.flags = cu.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        ok(cu.cuMemSetAccess(address, SIZE, [access], 1))
        return address

    def team():
        if RANK == 0:
            prop = cu.CUmulticastObjectProp()
            prop.numDevices, prop.size, prop.handleTypes = RANKS, SIZE, int(FABRIC)
            made = ok(cu.cuMulticastCreate(prop))
            partner.sendall(bytes(ok(cu.cuMemExportToShareableHandle(made, FABRIC, 0)).data))
            return made
        handle = cu.CUmemFabricHandle()
        handle.data = partner.recv(64, socket.MSG_WAITALL)
        return ok(cu.cuMemImportFromShareableHandle(handle.getPtr(), FABRIC))

    def launch():
        arguments = ((both, own, RANKS), (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int))
        ok(cu.cuLaunchKernel(meet, 1, 1, 1, 1, 1, 1, 0, stream, arguments, 0))

    kind = cu.CUmemAllocationProp()
    kind.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    kind.location.type, kind.location.id = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, RANK
    kind.requestedHandleTypes = FABRIC
    mc = team()
    ok(cu.cuMulticastAddDevice(mc, device))
    memory = ok(cu.cuMemCreate(SIZE, kind, 0))
    ok(cu.cuMulticastBindMem(mc, 0, memory, 0, SIZE, 0))
    own, both = mapped(memory), mapped(cu.CUmemGenericAllocationHandle(int(mc)))
    meet = ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData(TEXT)), b"meet"))
    stream = ok(cu.cuStreamCreate(1))
    partner.sendall(b"x")
    assert partner.recv(1) == b"x"
'''


def ranks(then: str, *options: str):
    """Run two ranks that share a multicast object, and what is to come then."""
    return on_ranks(PART.replace("RANKS", "2") + then, 2, *options)


def test_kernels_of_ranks_meet():
    done = ranks("\n    launch()\n    tell(answer=int(cu.cuStreamSynchronize(stream)[0]))\n")
    assert (done.code, done.each("answer")) == (0, [0, 0]), done.err


def test_a_rank_that_is_killed_leaves_the_others_their_kernels():
    done = ranks(
        """
    if RANK == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    launch()
    while partner.recv(1):
        pass
    time.sleep(0.3)
    tell(spins=int(cu.cuStreamQuery(stream)[0]))
    ok(cu.cuMemsetD32Async(own, RANKS, 1, ok(cu.cuStreamCreate(1))))
    tell(ends=int(cu.cuStreamSynchronize(stream)[0]))
""".replace("RANKS", "2")
    )
    assert done.code == 128 + signal.SIGKILL
    assert (done.each("spins"), done.each("ends")) == ([600], [0])


def test_a_kernel_that_waits_for_the_dead_ends_at_its_time_limit():
    done = ranks(
        """
    if RANK == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    launch()
    tell(answer=int(cu.cuStreamSynchronize(stream)[0]))
""",
        "--kernel-limit",
        "1",
    )
    assert done.each("answer") == [702]


def test_memory_unbound_under_a_running_kernel_ends_no_process():
    done = ranks(
        """
    if RANK == 0:
        launch()
        while ctypes.c_uint32.from_address(own).value != 1:
            pass
        partner.sendall(b"x")
        assert partner.recv(1) == b"x"
        tell(spins=int(cu.cuStreamQuery(stream)[0]))
        ok(cu.cuMemsetD32Async(own, 2, 1, ok(cu.cuStreamCreate(1))))
        tell(ends=int(cu.cuStreamSynchronize(stream)[0]))
        launch()
        tell(hole=int(cu.cuStreamSynchronize(stream)[0]))
    else:
        assert partner.recv(1) == b"x"
        ok(cu.cuMulticastUnbind(mc, device, 0, SIZE))
        ok(cu.cuMemUnmap(own, SIZE))
        ok(cu.cuMemRelease(memory))
        partner.sendall(b"x")
"""
    )
    assert done.code == 0
    assert (done.each("spins"), done.each("ends"), done.each("hole")) == ([600], [0], [700])
