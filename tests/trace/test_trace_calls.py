"""What is recorded of calls: answered, refused, blocked, interrupted, with bad pointers, before cuInit, from C."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.metadata import files
from pathlib import Path

import pytest
from traced import KEYS, Traced, environment, python_traced, read, run_traced

from cumulticast import sim

OBJECT = """
    from cuda.bindings._v2 import driver
    driver.init(0)
    prop = driver.MulticastObjectProp_v1()
    prop.num_devices, prop.size_ = {devices}, 2 << 20
    mc = driver.multicast_create(prop)
    driver.multicast_add_device(mc, 0)
    memory = driver.MemAllocationProp_v1()
    memory.type, memory.location.type = 1, 1
    handle = driver.mem_create(2 << 20, memory, 0)
"""
HEADER_KEYS = ["schema", "machine", "world", "profile"]
PROP = {"numDevices": 1, "size": 2 << 20, "handleTypes": "NONE", "flags": 0}
DEVICE_0 = {
    "type": "PINNED",
    "requestedHandleTypes": "NONE",
    "location": {"type": "DEVICE", "id": 0},
}


def only(traced: Traced, call: str) -> dict[str, object]:
    (found,) = traced.of(call)
    return found


def test_every_line_has_what_the_format_says(tmp_path: Path) -> None:
    traced = python_traced(tmp_path, OBJECT.format(devices=1), "--profile", "strict")
    assert list(traced.header) == HEADER_KEYS
    assert traced.header["machine"] == "hgx-h100-8"
    assert traced.header["profile"] == "strict"
    for found in traced.lines:
        assert list(found)[: len(KEYS)] == KEYS
        assert set(found) - set(KEYS) <= {"objects", "refused", "waited_us", "more_findings"}
        assert 0 < found["t"] < 60 and 0 < found["duration_us"] < 6e7


def test_a_program_of_the_v2_bindings(tmp_path: Path) -> None:
    code = OBJECT.format(devices=1) + "    driver.multicast_bind_mem(mc, 0, handle, 0, 2 << 20, 0)\n"
    traced = python_traced(tmp_path, code)
    mc, handle = (
        only(traced, "cuMulticastCreate")["out"]["mcHandle"],
        only(traced, "cuMemCreate")["out"]["handle"],
    )
    assert only(traced, "cuMulticastCreate")["args"] == {"prop": PROP}
    assert only(traced, "cuMulticastAddDevice")["args"] == {"mcHandle": mc, "dev": 0}
    assert only(traced, "cuMemCreate")["args"] == {"size": 2 << 20, "prop": DEVICE_0, "flags": 0}
    bind = only(traced, "cuMulticastBindMem")
    offsets = {"mcOffset": 0, "memOffset": 0, "size": 2 << 20, "flags": 0}
    assert bind["args"] == {"mcHandle": mc, "memHandle": handle, **offsets}
    assert (bind["status"], bind["out"], bind["finding"]) == (0, {}, None)
    created = only(traced, "cuMulticastCreate")["objects"]["mcHandle"]
    assert bind["objects"] == {"mcHandle": created, "memHandle": only(traced, "cuMemCreate")["objects"]["handle"]}


def test_a_program_of_the_v1_bindings_and_calls_before_init(tmp_path: Path) -> None:
    code = """
        from cuda.bindings import driver
        driver.cuDeviceGetCount()
        driver.cuInit(0)
        driver.cuDeviceGetCount()
        driver.cuDeviceGetName(20, 0)
        driver.cuDeviceGetUuid(0)
    """
    traced = python_traced(tmp_path, code)
    before, after = traced.of("cuDeviceGetCount")
    assert (before["status"], before["out"], before["refused"]["rule"]) == (3, {}, "MC001")
    assert (after["status"], after["out"], "refused" in after) == (0, {"count": 8}, False)
    assert only(traced, "cuDeviceGetName")["out"] == {"name": "NVIDIA H100 80GB HB"}
    uuid = only(traced, "cuDeviceGetUuid")["out"]["uuid"]
    assert [len(part) for part in uuid.split("-")] == [8, 4, 4, 4, 12]
    assert len(traced.of("cuGetProcAddress")) > 100


def test_a_refusal_says_why_and_a_finding_rides_along(tmp_path: Path) -> None:
    code = (
        OBJECT.format(devices=1)
        + """
    try: driver.multicast_bind_mem(mc, 0, handle, 0, 100, 0)
    except Exception: pass
    larger = driver.mem_create(4 << 20, memory, 0)
    driver.multicast_bind_mem(mc, 0, larger, 0, 4 << 20, 0)  # beyond prop.size, within the extent
    """
    )
    refused, reported = python_traced(tmp_path, code).of("cuMulticastBindMem")
    assert (refused["status"], refused["finding"], refused["refused"]["rule"]) == (1, None, "MC304")
    assert "size 100 is not a multiple of 2097152" in refused["refused"]["message"]
    assert (reported["status"], reported["finding"]["rule"]) == (0, "MC308")


def test_two_findings_of_one_call(tmp_path: Path) -> None:
    """Beyond prop.size (a departure), and off the recommended granularity (advice)."""
    code = OBJECT.format(devices=1).replace("size_ = 1, 2 << 20", "size_ = 1, 514 << 20")
    code += "    driver.multicast_bind_mem(mc, 514 << 20, handle, 0, 2 << 20, 0)\n"
    bind = only(python_traced(tmp_path, code), "cuMulticastBindMem")
    assert bind["status"] == 0 and bind["finding"]["rule"] == "MC308"
    (other,) = bind["more_findings"]
    assert other["rule"] != "MC308" and other["message"]


BAD = """
    from cuda.bindings import driver
    driver.cuInit(0)
    import ctypes
    raw = ctypes.CDLL("libcuda.so.1")
    raw.cuDeviceGetCount(None)
    raw.cuMulticastCreate(ctypes.byref(ctypes.c_uint64()), ctypes.c_void_p(0x1000))
    raw.cuDeviceGetAttribute(ctypes.c_void_p(0x1000), 7, -3)
    raw.cuTexRefGetFlags(ctypes.byref(ctypes.c_uint32()), 5)
    raw.cuTexRefGetFlags(None, 6)
"""


def test_bad_pointers_and_entries_that_nobody_answers(tmp_path: Path) -> None:
    traced = python_traced(tmp_path, BAD)
    null = only(traced, "cuDeviceGetCount")
    assert (null["status"], null["args"]) == (1, {"count": None})
    create = only(traced, "cuMulticastCreate")
    assert create["status"] == 1
    assert create["args"]["prop"] == "0x1000 is unreadable"
    assert create["args"]["mcHandle"].startswith("0x")
    attribute = only(traced, "cuDeviceGetAttribute")
    assert attribute["args"] == {"pi": "0x1000 is unwritable", "attrib": 7, "dev": -3}
    assert "unwritable" in attribute["refused"]["message"]
    flags, flags_null = traced.of("cuTexRefGetFlags")
    assert (flags["status"], flags["args"]) == (801, {"hTexRef": 5})
    assert (flags_null["status"], flags_null["args"]) == (801, {"pFlags": None, "hTexRef": 6})


WAIT = (
    OBJECT.format(devices=2)
    + """
    import threading, time
    later = threading.Timer(0.6, driver.multicast_add_device, (mc, 1))
    threading.Thread(target=lambda: (driver.device_get_count(), later.join())).start()  # somebody may still add
    later.start()
    driver.multicast_bind_mem(mc, 0, handle, 0, 2 << 20, 0)
"""
)


def test_a_wait_is_one_line_with_its_whole_duration(tmp_path: Path) -> None:
    traced = python_traced(tmp_path, WAIT)
    bind, (_, add) = only(traced, "cuMulticastBindMem"), traced.of("cuMulticastAddDevice")
    assert bind["status"] == 0
    assert 0.4e6 < bind["waited_us"] <= bind["duration_us"] < 10e6
    assert bind["t"] < add["t"] < bind["t"] + bind["duration_us"] / 1e6
    assert bind["tid"] != add["tid"] and bind["objects"]["mcHandle"] == add["objects"]["mcHandle"]


@pytest.mark.parametrize(
    ("options", "rule"), [((), "wait_can_end"), (("--hopeless", "wait", "--block-limit", "0.3"), "block_limit")]
)
def test_a_wait_that_is_given_up(tmp_path: Path, options: tuple[str, ...], rule: str) -> None:
    from cumulticast.rules import team_waits

    code = OBJECT.format(devices=2) + "    driver.multicast_bind_mem(mc, 0, handle, 0, 2 << 20, 0)\n"
    bind = only(python_traced(tmp_path, code, *options, code_of_exit=1), "cuMulticastBindMem")
    code_of_rule = getattr(team_waits, rule).code
    assert (bind["status"], bind["finding"]["rule"], bind["refused"]["rule"]) == (909, code_of_rule, code_of_rule)
    assert bind["waited_us"] > 0.2e6


def test_an_interrupted_wait(tmp_path: Path) -> None:
    code = (
        OBJECT.format(devices=2)
        + """
    import signal
    def ring(*_): raise TimeoutError("rang")
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try: driver.multicast_bind_mem(mc, 0, handle, 0, 2 << 20, 0)
    except TimeoutError as error: print(error)
    driver.device_get_count()
    """
    )
    traced = python_traced(tmp_path, code, "--hopeless", "wait")
    assert traced.done.stdout == "rang\n"
    bind = only(traced, "cuMulticastBindMem")
    assert bind["status"] == 999 and "signal handler raised" in bind["refused"]["message"]
    assert bind["waited_us"] > 0.2e6
    assert only(traced, "cuDeviceGetCount")["status"] == 0


def test_calls_of_a_signal_handler_inside_a_wait(tmp_path: Path) -> None:
    """The handler adds the device that the interrupted call of the same thread waits for."""
    code = (
        OBJECT.format(devices=2)
        + """
    import signal
    signal.signal(signal.SIGALRM, lambda *_: driver.multicast_add_device(mc, 1))
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    driver.multicast_bind_mem(mc, 0, handle, 0, 2 << 20, 0)
    """
    )
    traced = python_traced(tmp_path, code, "--hopeless", "wait")
    bind, (_, add) = only(traced, "cuMulticastBindMem"), traced.of("cuMulticastAddDevice")
    assert (bind["status"], add["status"], bind["tid"]) == (0, 0, add["tid"])
    assert bind["t"] < add["t"] < bind["t"] + bind["duration_us"] / 1e6


def test_injected_faults_befall_traced_calls_with_their_arguments(tmp_path: Path) -> None:
    faults = ("--fault", "fail:cuMemCreate:nth=2:status=2", "--fault", "delay:cuMulticastAddDevice:seconds=0.2")
    code = OBJECT.format(devices=1) + "    try: driver.mem_create(4 << 20, memory, 0)\n    except Exception: pass\n"
    traced = python_traced(tmp_path, code, *faults)
    first, second = traced.of("cuMemCreate")
    assert (first["status"], second["status"], second["args"]["size"]) == (0, 2, 4 << 20)
    assert "injected fault" in second["refused"]["message"]
    assert only(traced, "cuMulticastAddDevice")["duration_us"] > 0.19e6


def test_a_call_that_kills_is_recorded_when_it_has_run(tmp_path: Path) -> None:
    traced = run_traced(
        tmp_path,
        sys.executable,
        "-c",
        "from cuda.bindings._v2 import driver; driver.init(0); driver.device_get_count()",
        options=("--fault", "kill-after:cuInit"),
    )
    assert traced.done.returncode == 137
    assert (traced.lines[-1]["call"], traced.lines[-1]["status"]) == ("cuInit", 0)


def test_shareable_handles_can_be_read(tmp_path: Path) -> None:
    code = """
        from cuda.bindings import driver as cu
        cu.cuInit(0)
        prop = cu.CUmulticastObjectProp()
        prop.numDevices, prop.size, prop.handleTypes = 1, 2 << 20, 9
        _, mc = cu.cuMulticastCreate(prop)
        kinds = cu.CUmemAllocationHandleType
        for kind in (kinds.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, kinds.CU_MEM_HANDLE_TYPE_FABRIC):
            status, shared = cu.cuMemExportToShareableHandle(mc, kind, 0)
            assert status == 0
            print(shared if kind == 1 else "fabric")
            print(cu.cuMemImportFromShareableHandle(shared.data if kind == 8 else int(shared), kind))
    """
    traced = python_traced(tmp_path, code, "--machine", "gb200-nvl72")
    posix, fabric = traced.of("cuMemExport")
    assert only(traced, "cuMulticastCreate")["args"]["prop"]["handleTypes"] == "POSIX_FILE_DESCRIPTOR|FABRIC"
    assert str(posix["out"]["shareableHandle"]) == traced.done.stdout.split()[0]
    assert len(bytes.fromhex(fabric["out"]["shareableHandle"])) == 64
    taken, taken_fabric = traced.of("cuMemImport")
    assert taken["args"]["osHandle"] == posix["out"]["shareableHandle"]
    assert taken_fabric["args"]["osHandle"] == fabric["out"]["shareableHandle"]
    assert taken["objects"]["handle"] == only(traced, "cuMulticastCreate")["objects"]["mcHandle"]


def test_a_c_program(tmp_path: Path) -> None:
    for name in ("libcuda.so", "libcuda.so.1"):
        (tmp_path / name).symlink_to(sim.library_path())
    header = next(file for file in files("nvidia-cuda-runtime") or () if file.name == "cuda.h")
    source = Path(__file__).parents[1] / "cli" / "c_host.c"
    include = f"-I{Path(str(header.locate())).parent}"
    command = ["gcc", str(source), "-o", str(tmp_path / "c_host"), include, f"-L{tmp_path}", "-lcuda"]
    subprocess.run(command, check=True, timeout=60)
    traced = run_traced(tmp_path, str(tmp_path / "c_host"), options=("--devices", "2"))
    assert (traced.done.returncode, traced.done.stderr) == (0, "")
    assert [found["status"] for found in traced.of("cuMulticastBindMem")] == [0, 0, 1]
    grants = [found["args"]["desc"] for found in traced.of("cuMemSetAccess")]
    assert grants == [[{"location": {"type": "DEVICE", "id": 0}, "flags": "READWRITE"}]] * 2
    assert (traced.lines[0]["call"], traced.lines[-1]["call"]) == ("cuInit", "cuMemRelease")


def test_a_machine_started_in_the_process_is_traced_too(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    code = """
        import cumulticast.sim as sim
        from cuda.bindings import driver
        for machine in ("hgx-h100-8", "hgx-h200-8"):
            sim.start(machine=machine)
            driver.cuInit(0)
            sim.stop()
            driver.cuInit(0)  # nobody is there to record it
    """
    import textwrap

    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=environment(path), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    _, lines = read(path)
    assert [one.get("machine", one.get("call")) for one in lines if one.get("call") != "cuGetProcAddress_v2"] == [
        "cuInit",
        "hgx-h200-8",
        "cuInit",
    ]


def test_without_a_trace_nothing_is_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuda.bindings import driver

    from cumulticast.libcuda import serve

    monkeypatch.delenv("CUMULTICAST_TRACE", raising=False)
    sim.start()
    try:
        index = next(k for k, entry in enumerate(serve.ENTRIES) if entry.symbol == "cuDeviceGetCount")
        assert driver.cuDeviceGetCount()[0] == 3  # at its first call the function is written
        assert serve.SERVER.functions[index].__code__.co_filename == "<cuDeviceGetCount>"  # glue.py's own
        assert not sim.current().listeners
    finally:
        sim.stop()


def test_times_are_those_of_the_world(tmp_path: Path) -> None:
    """Two processes, one after the other: their times count from the same beginning."""
    one = "from cuda.bindings._v2 import driver; driver.init(0)"
    script = f"{sys.executable} -c '{one}'; sleep 0.4; {sys.executable} -c '{one}'"
    began = time.monotonic()
    traced = run_traced(tmp_path, "sh", "-c", script)
    took = time.monotonic() - began
    first, second = traced.of("cuInit")
    assert first["pid"] != second["pid"]
    assert 0.4 < second["t"] - first["t"] < took


def test_the_page_names_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "traces.md").read_text()
    for key in [*HEADER_KEYS, *KEYS, "more_findings", "refused", "waited_us", "objects"]:
        assert f"`{key}`" in page, key
