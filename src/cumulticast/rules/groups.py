"""Entry points that are governed together, by their C names."""

BIND_MEM = ("cuMulticastBindMem", "cuMulticastBindMem_v2")
BIND_ADDR = ("cuMulticastBindAddr", "cuMulticastBindAddr_v2")
BINDS = BIND_MEM + BIND_ADDR
BINDS_BY_OWNER = ("cuMulticastBindMem", "cuMulticastBindAddr")
BINDS_BY_DEVICE = ("cuMulticastBindMem_v2", "cuMulticastBindAddr_v2")

COPIES = (
    "cuMemcpy", "cuMemcpyAsync", "cuMemcpyPeer", "cuMemcpyPeerAsync",
    "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2",
    "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2",
    "cuMemcpy2D_v2", "cuMemcpy2DUnaligned_v2", "cuMemcpy2DAsync_v2",
)  # fmt: skip
MEMSETS = (
    "cuMemsetD8_v2", "cuMemsetD16_v2", "cuMemsetD32_v2",
    "cuMemsetD8Async", "cuMemsetD16Async", "cuMemsetD32Async",
    "cuMemsetD2D8_v2", "cuMemsetD2D16_v2", "cuMemsetD2D32_v2",
    "cuMemsetD2D8Async", "cuMemsetD2D16Async", "cuMemsetD2D32Async",
)  # fmt: skip
TRANSFERS = COPIES + MEMSETS
PLANE_COPIES = tuple(name for name in COPIES if "2D" in name)
PLANE_MEMSETS = tuple(name for name in MEMSETS if "D2D" in name)
WIDE_MEMSETS = tuple(name for name in MEMSETS if "D16" in name or "D32" in name)
