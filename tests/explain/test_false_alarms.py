"""Texts that only speak of failures, or that fail elsewhere, beside neighbours that report one."""

from __future__ import annotations

from pathlib import Path

import pytest

import cumulticast
from cumulticast.why import explain

ALARMS = ("fault", "unsupported")

#: What a line says in code, in documents and in tests, and a neighbour in which it happened.
SPOKEN = {
    "c": (
        '    if (r != CUDA_SUCCESS) fprintf(stderr, "cuMulticastBindMem failed: CUDA_ERROR_INVALID_VALUE\\n");',
        "cuMulticastBindMem failed: CUDA_ERROR_INVALID_VALUE",
    ),
    "comment": (
        "    // cuMulticastBindMem answers CUDA_ERROR_ILLEGAL_STATE then",
        "    cuMulticastBindMem answers CUDA_ERROR_ILLEGAL_STATE",
    ),
    "throw": (
        'mc.cc:31:   throw std::runtime_error("cuMulticastBindMem failed: CUDA_ERROR_ILLEGAL_STATE");',
        "  what():  cuMulticastBindMem failed: CUDA_ERROR_ILLEGAL_STATE",
    ),
    "python": (
        '        logger.error("multicast_bind_mem answered CUDA_ERROR_SYSTEM_NOT_READY, cuMulticastBindMem")',
        "ERROR: multicast_bind_mem answered CUDA_ERROR_SYSTEM_NOT_READY, cuMulticastBindMem",
    ),
    "grep": (
        'driver.py:88:    802: "CUDA_ERROR_SYSTEM_NOT_READY from cuMulticastBindMem",',
        "src/mem_heap.cpp:88: non-zero status: 802 cuMulticastBindMem failed for mem_handle 0x7f on device 3",
    ),
    "table": (
        "| 401 | CUDA_ERROR_ILLEGAL_STATE | cuMulticastBindMem |",
        "401 CUDA_ERROR_ILLEGAL_STATE cuMulticastBindMem",
    ),
    "condition": (
        "Try again when cuMulticastBindMem returns CUDA_ERROR_SYSTEM_NOT_READY",
        "Retry 1/3: cuMulticastBindMem returned CUDA_ERROR_SYSTEM_NOT_READY",
    ),
    "could": (
        "cuMulticastBindMem could fail with CUDA_ERROR_ILLEGAL_STATE",
        "could not bind: cuMulticastBindMem: CUDA_ERROR_ILLEGAL_STATE",
    ),
    "change": (
        "- Handle CUDA_ERROR_SYSTEM_NOT_READY (802) from cuMulticastBindMem by retrying",
        "- rank 3: CUDA_ERROR_SYSTEM_NOT_READY (802) from cuMulticastBindMem",
    ),
    "commit": (
        "    Fixes: CUDA error 802 from cuMulticastBindMem on busy nodes",
        "    Failed: CUDA error 802 from cuMulticastBindMem on a busy node",
    ),
    "expected": (
        "INFO test_stall: cuMulticastBindMem returned CUDA_ERROR_SYSTEM_NOT_READY as expected",
        "AssertionError: expected CUDA_SUCCESS, cuMulticastBindMem returned CUDA_ERROR_SYSTEM_NOT_READY",
    ),
    "option": (
        "  --no-multicast     go on without it (cuMulticastBindMem: CUDA_ERROR_ILLEGAL_STATE)",
        "  multicast: off     cuMulticastBindMem: CUDA_ERROR_ILLEGAL_STATE",
    ),
}

#: Failures of other origin and programs whose multicast is another one.
ELSEWHERE = {
    "docker": "docker: Error response from daemon: failed to create endpoint: multicast not supported by driver.",
    "omnipath": "hfi1_0: multicast not supported on this device",
    "infiniband": "ib0: device does not support multicast",
    "keepalived": "gpu-node-17 keepalived[411]: (VI_1) multicast error sending advert",
    "networkd": "gpu-node-17 systemd-networkd[300]: eth0: Failed to set multicast routing: Operation not permitted",
    "linker": "mc.o: undefined reference to `cuMulticastBindMem'\ncollect2: error: ld returned 1 exit status",
    "binding": "AttributeError: module 'cuda.bindings.driver' has no attribute 'multicast_bind_mem'",
    "ordinal": "    torch._C._cuda_setDevice(device)\nRuntimeError: CUDA error: invalid device ordinal",
    "no device": "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
    "stub": "cuInit(0) failed: CUDA_ERROR_STUB_LIBRARY (34)",
    "mismatch": "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display "
    "driver / cuda driver combination",
    "peer": "h:1:2 [0] transport/p2p.cc:285 NCCL WARN Cuda failure 'peer access is not supported between these two "
    "devices'",
    "locals": 'Traceback (most recent call last):\n  File "a.py", line 31, in bind\n'
    "    raise BindError(f\"cuMulticastBindMem failed: CUDA_ERROR_INVALID_VALUE {x}\")\nKeyError: 'x'",
}


@pytest.mark.parametrize("form", SPOKEN)
def test_a_line_that_only_speaks_of_a_failure_is_none_and_its_neighbour_is(form: str) -> None:
    spoken, happened = SPOKEN[form]
    answer = explain(spoken + "\n")
    assert (answer.verdict, answer.cause, answer.code, answer.evidence) == ("uncertain", None, None, ["text:1"])
    assert "no line reports that one happened" in answer.why
    assert explain(f"{happened}\n".encode()).verdict == "fault"
    assert explain(f"{spoken}\n{happened}\n").evidence == ["text:2"]


def test_the_source_in_a_traceback_is_no_failure_and_its_last_line_is() -> None:
    frame = '  File "a.py", line 31, in bind\n    Bind(say="CUDA_ERROR_INVALID_VALUE")\n'
    source = f"Traceback (most recent call last):\n{frame}"
    assert explain(f"{source}TypeError: no\n").verdict == "unrelated"
    answer = explain(f"{source}RuntimeError: cuMulticastBindMem: CUDA_ERROR_ILLEGAL_STATE\n")
    assert (answer.code, answer.evidence) == (401, ["text:4"])


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_fails_elsewhere_is_unrelated(name: str) -> None:
    answer = explain(ELSEWHERE[name] + "\n")
    assert answer.verdict == "unrelated", answer


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("RuntimeError: [SymmDeviceMemory] Device does not support multicasting.", "unsupported"),
        ("GPU 0: multicast is not supported", "unsupported"),
        ("cuInit failed: CUDA_ERROR_SYSTEM_NOT_READY", "uncertain"),
        ("h:1:2 [0] transport/nvls.cc:99 NCCL WARN Cuda failure 217 'peer access is not supported'", "fault"),
        ("symm_mem error: multicast failed on gpu-node-17", "uncertain"),
    ],
)
def test_neighbours_of_those_are_seen(line: str, verdict: str) -> None:
    assert explain(line + "\n").verdict == verdict


# ---- rules that the software driver names


@pytest.mark.parametrize("above", ["", "cuda.bindings._v2.driver.InvalidValueError: ERROR_INVALID_VALUE (1)\n"])
def test_a_rule_names_its_call_and_status(above: str) -> None:
    """As the README shows an exception, and its last line alone."""
    text = (
        f"{above}MC304 multicast_bind_mem: size 3145728 is not a multiple of 2097152. More: cumulticast rules MC304\n"
    )
    answer = explain(text)
    assert (answer.cause, answer.call, answer.code) == ("size-not-granular", "cuMulticastBindMem", 1)


def test_a_rule_about_the_system_alone_is_a_failure() -> None:
    line = "multicast_bind_mem: the configuration is in an illegal state. More: cumulticast rules"
    answer = explain(f"MC344 {line} MC344\n")
    assert (answer.cause, answer.call, answer.code) == ("fabric-bad-state", "cuMulticastBindMem", 401)
    assert explain(f"MC000 {line} MC000\n").verdict not in ALARMS  # no such rule


# ---- a service that is not there is a fault only where it belongs

STOPPED = "$ systemctl is-active nvidia-fabricmanager\ninactive\n"
HEALTHY = "    Fabric\n        State               : Completed\n        Status              : Success\n"


def gpus(name: str, count: int = 1) -> str:
    return "".join(f"GPU {k}: {name} (UUID: GPU-{k})\n" for k in range(count))


@pytest.mark.parametrize(
    ("shown", "verdict", "cause"),
    [
        ("", "uncertain", None),  # nothing tells what machine it is
        (HEALTHY, "uncertain", None),  # it may have died later
        (gpus("NVIDIA H100 80GB HBM3", 8), "fault", "fm-not-running"),
        (gpus("NVIDIA H200", 2), "fault", "fm-not-running"),
        (gpus("NVIDIA H200"), "uncertain", None),  # passed through to a guest: the host runs it
        (gpus("NVIDIA GB200", 4), "unrelated", "not-multicast"),  # it runs on the switch trays
        (gpus("NVIDIA GH200 480GB"), "unrelated", "not-multicast"),
        (gpus("NVIDIA GeForce RTX 4090", 2), "unsupported", "fm-not-needed"),
        (gpus("NVIDIA RTX 6000 Ada Generation", 2), "unsupported", "fm-not-needed"),
        (gpus("NVIDIA A100-PCIE-40GB", 2), "unsupported", "fm-not-needed"),
    ],
)
def test_a_stopped_fabric_manager_is_judged_by_the_machine(shown: str, verdict: str, cause: str | None) -> None:
    answer = explain(STOPPED + shown)
    assert (answer.verdict, answer.cause) == (verdict, cause), answer
    if cause is None:
        assert "fm-not-running" in answer.also_possible


@pytest.mark.parametrize(("name", "cause"), [("NVIDIA H200", "fm-not-running"), ("NVIDIA GB200", "fabric-bad-state")])
def test_a_refused_bind_beside_it_too(name: str, cause: str) -> None:
    answer = explain(f"{STOPPED}{gpus(name, 4)}cuMulticastBindMem failed: CUDA_ERROR_ILLEGAL_STATE\n")
    assert (answer.verdict, answer.cause) == ("fault", cause)


# ---- what repeats over reboots, and what lists or limits without trouble

REFUSED = "cuMulticastBindMem failed: CUDA_ERROR_ILLEGAL_STATE\n"
BANNER = (
    "[Mar {:02} 2026 08:30:12] [INFO] [tid 1] Fabric Manager version 580.95.05 is running with the following options\n"
)
UNIT = "Mar 13 08:30:12 n1 systemd[1]: {} nvidia-fabricmanager.service - NVIDIA fabric manager service.\n"


def test_a_log_that_goes_on_over_boots_does_not_establish_a_restart() -> None:
    answer = explain(BANNER.format(3) + BANNER.format(13) + REFUSED)
    assert (answer.cause, answer.also_possible[0]) == ("fabric-bad-state", "fm-stale-registration")
    assert "fm-stale-registration" in explain(BANNER.format(3) + REFUSED).also_possible


@pytest.mark.parametrize(
    ("between", "cause"),
    [
        ("", "fm-stale-registration"),
        ("-- Boot 3fa1c2d4e5f6478899aabbccddeeff00 --\n", "fabric-bad-state"),
        ("Mar 13 08:30:01 n1 kernel: NVRM: loading NVIDIA UNIX Open Kernel Module\n", "fabric-bad-state"),
    ],
)
def test_a_service_that_stops_and_starts_with_the_machine_is_not_restarted(between: str, cause: str) -> None:
    assert explain(UNIT.format("Stopped") + between + UNIT.format("Started") + REFUSED).cause == cause


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("partition p1: multicast groups limit 256, used 12", "unrelated"),
        ("nmx: partition 1 multicast groups available: 900", "unrelated"),
        ("partition 3 created with multicast groups left 24", "unrelated"),
        ("partition creation failed: multicast groups limit exceeded", "fault"),
        ("nmx: partition 1 has no multicast groups left: no groups left", "fault"),
        ("nmx: RESOURCE_EXHAUSTED for partition 1", "fault"),
    ],
)
def test_a_limit_is_no_shortage(line: str, verdict: str) -> None:
    assert explain(line + "\n").verdict == verdict


@pytest.mark.parametrize(("states", "cause"), [((0, 0), "fabric-partition-inactive"), ((0, 1), None)])
def test_partitions_that_are_not_in_use_are_no_fault(states: tuple[int, ...], cause: str | None) -> None:
    listed = "".join(f'  "partitionId" : {k},\n  "isActive" : {state},\n' for k, state in enumerate(states))
    answer = explain(f"Error 802: system not yet initialized in cudaGetDeviceCount\n{listed}")
    assert answer.code == 802
    assert answer.cause != "fabric-partition-inactive" if cause is None else answer.cause == cause


def test_a_program_is_no_text_whatever_words_it_has() -> None:
    words = b"cuMulticastBindMem failed: CUDA_ERROR_ILLEGAL_STATE\n"
    head = bytes(range(1, 9)) * 64
    assert explain(b"\x7fELF" + head + words).verdict == "uncertain"
    assert explain(bytes(4096) + words).verdict == "fault"  # zeros are what a crash leaves in a log


#: Files of the package in which a line stands as a driver prints it.
QUOTING = {"driver.py", "log.py", "explain.py"}


def test_the_packages_own_sources_are_no_failures() -> None:
    """Pages of causes quote lines as they are printed, the machines say which have no multicast; all else is code."""
    package = Path(cumulticast.__file__).parent
    told = {path: explain(path) for path in package.rglob("*.py")}
    alarms = {path.name: str(answer) for path, answer in told.items() if answer.verdict in ALARMS}
    assert len(told) > 300
    assert set(alarms) <= QUOTING, alarms
