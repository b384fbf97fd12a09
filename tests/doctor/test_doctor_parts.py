"""The doctor's judgement on machines that are not at hand: fakes of NVML, of services and of files."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cumulticast.doctor import ask
from cumulticast.doctor.checks import descriptors, devices, fabric, limits, modes, nvlink, services, trial
from cumulticast.doctor.examine import guarded, run
from cumulticast.doctor.register import Check, checks
from cumulticast.doctor.result import Report, Result
from cumulticast.doctor.share import shareable
from cumulticast.doctor.verdict import judge
from cumulticast.team.comm import pidfd
from cumulticast.why.causes import causes

HEALTHY = 0x1AA


class NotSupportedError(Exception):
    pass


class Nvml(SimpleNamespace):
    """An NVML that answers what a test wants."""

    NotSupportedError = NotSupportedError
    InvalidArgumentError = FunctionNotFoundError = NotSupportedError

    def device_get_count_v2(self) -> int:
        return 2

    def device_get_handle_by_index_v2(self, index: int) -> int:
        return index


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    fake = Nvml()

    @contextmanager
    def session() -> Iterator[Nvml]:
        yield fake

    monkeypatch.setattr(ask, "nvml", session)
    monkeypatch.delenv("CUMULTICAST_WORLD", raising=False)
    return fake


def registration(**other: Any) -> SimpleNamespace:
    usual = {"state": 3, "status": 0, "clique_id": 7, "cluster_uuid": bytes(16), "health_mask": HEALTHY}
    return SimpleNamespace(**{**usual, "health_summary": 1, **other})


@pytest.mark.parametrize(
    ("other", "outcome", "causes"),
    [
        ({}, "ok", ()),
        ({"state": 2}, "missing", ("fabric-registration-pending",)),
        ({"state": 1}, "missing", ("fm-not-running", "fabric-registration-pending")),
        ({"status": 999}, "missing", ("fabric-bad-state",)),
        ({"health_mask": HEALTHY & ~0x3 | 1}, "partial", ("nvlink-hardware-fault",)),
        ({"health_mask": HEALTHY & ~0x30 | 1 << 4}, "partial", ("nvlink-hardware-fault",)),
        ({"health_mask": HEALTHY & ~0xF00 | 5 << 8}, "partial", ("fabric-bad-state",)),
        ({"health_mask": HEALTHY | 2 << 12}, "partial", ("fabric-partition-inactive",)),
        ({"health_mask": 0}, "ok", ()),
        ({"health_summary": 2}, "partial", ("fabric-bad-state",)),
        ({"clique_id": 8}, "partial", ("clique-mismatch",)),
    ],
)
def test_one_device_decides_about_the_fabric(nvml: Nvml, other: dict, outcome: str, causes: tuple) -> None:
    nvml.device_get_gpu_fabric_info_v = lambda handle: registration(**(other if handle else {}))
    found = fabric.fabric()
    assert (found.outcome, found.causes) == (outcome, causes), found.summary
    json.dumps(found.as_dict())


def test_a_driver_without_fabric_information_has_no_fabric(nvml: Nvml) -> None:
    def refuse(handle: int) -> None:
        raise NotSupportedError

    nvml.device_get_gpu_fabric_info_v = refuse
    assert fabric.fabric().outcome == "not-available"


def test_a_link_that_is_down_is_found(nvml: Nvml) -> None:
    down: set[tuple[int, int]] = set()

    def state(handle: int, link: int) -> int:
        if link >= 4:
            raise NotSupportedError
        return (handle, link) not in down

    nvml.device_get_nvlink_state, nvml.device_get_nvlink_remote_device_type = state, lambda handle, link: 2
    assert nvlink.nvlink().outcome == "ok"
    down.add((1, 3))
    found = nvlink.nvlink()
    assert (found.outcome, found.summary) == ("partial", "device 1: 3 of 4 links are up")
    assert found.causes == ("nvlink-hardware-fault",)


def test_mig_counts_on_one_device_and_on_all(nvml: Nvml) -> None:
    for split, outcome in (((), "ok"), ((1,), "partial"), ((0, 1), "missing")):
        nvml.device_get_mig_mode = lambda handle, split=split: (int(handle in split), 0)
        found = modes.mig()
        assert (found.outcome, bool(found.causes)) == (outcome, bool(split))


def test_confidential_computing_is_told_from_devices_that_wait(nvml: Nvml) -> None:
    for feature, ready, cause in ((0, 0, ()), (1, 1, ("cc-mode-no-multicast",)), (1, 0, ("cc-gpus-not-ready",))):
        state = SimpleNamespace(cc_feature=feature, environment=2)
        nvml.system_get_conf_compute_state = lambda state=state: state
        nvml.system_get_conf_compute_gpus_ready_state = lambda ready=ready: ready
        assert modes.confidential().causes == cause


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A host with two switches and a log, whose unit each test names."""
    monkeypatch.delenv("CUMULTICAST_WORLD", raising=False)
    (tmp_path / "switches" / "0").mkdir(parents=True)
    monkeypatch.setattr(services, "SWITCHES", tmp_path / "switches")
    monkeypatch.setattr(services, "FABRIC_MANAGER_LOG", tmp_path / "fabricmanager.log")
    monkeypatch.setattr(services, "_running", lambda name: False)
    return tmp_path


@pytest.mark.parametrize(
    ("unit", "outcome", "causes"),
    [
        ("active", "ok", ()),
        ("inactive", "missing", ("fm-not-running",)),
        ("failed", "missing", ("fm-not-running",)),
        ("activating", "missing", ("fabric-registration-pending",)),
        (None, "not-available", ()),
    ],
)
def test_the_unit_of_the_fabric_manager(
    host: Path, monkeypatch: pytest.MonkeyPatch, unit: str | None, outcome: str, causes: tuple
) -> None:
    monkeypatch.setattr(services, "_unit", lambda name: unit)
    found = services.fabric_manager()
    assert (found.outcome, found.causes) == (outcome, causes)


def test_a_stopped_fabric_manager_without_switches_is_no_fault(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "_unit", lambda name: "inactive")
    monkeypatch.setattr(services, "SWITCHES", host / "none")
    assert services.fabric_manager().outcome == "not-available"


def test_the_log_of_a_running_fabric_manager_tells(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "_unit", lambda name: "active")
    log = host / "fabricmanager.log"
    log.write_text("[Mar 03 2026 10:11:12] [INFO] [tid 71] Connected to 1 node.\n")
    assert services.fabric_manager().outcome == "ok"
    line = "failed to find the GPU handle 7521386529 in the multicast team request setup 12."
    log.write_text(f"[Mar 03 2026 10:11:12] [ERROR] [tid 71] {line}\n")
    found = services.fabric_manager()
    assert found.causes == ("fm-stale-registration",)
    assert line in found.details["log_lines"][0]


def test_imex_channels_matter_where_the_fabric_spans_nodes(
    host: Path, nvml: Nvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    channels = host / "channels"
    monkeypatch.setattr(services, "CHANNELS", channels)
    monkeypatch.setattr(services, "_unit", lambda name: None)
    monkeypatch.setattr(services, "_text", lambda path: "242 nvidia-caps-imex-channels")
    for cluster, outcome, cause in (
        (bytes(16), "partial", ()),
        (bytes(15) + b"7", "missing", ("imex-channel-missing",)),
    ):
        nvml.device_get_gpu_fabric_info_v = lambda handle, cluster=cluster: registration(cluster_uuid=cluster)
        found = services.imex()
        assert (found.outcome, found.causes) == (outcome, cause)
    channels.mkdir()
    (channels / "channel0").touch()
    assert services.imex().outcome == "ok"


def test_a_filter_on_pidfd_getfd_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert descriptors.descriptors().details["pidfd_getfd"] == "ok"
    libc = SimpleNamespace(syscall=lambda *words: -1)
    monkeypatch.setattr(pidfd, "_libc", libc)
    monkeypatch.setattr(pidfd.ctypes, "get_errno", lambda: errno.EPERM)
    found = descriptors.descriptors()
    assert (found.outcome, found.causes) == ("partial", ("fd-exchange-eperm",))
    assert "Operation not permitted" in found.summary
    assert "seccomp" in found.summary


def test_low_limits_are_named_with_what_raises_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_shm_size", lambda: 64 << 20)
    monkeypatch.setattr(limits, "_limit", lambda kind: 1024)
    found = limits.limits()
    assert found.outcome == "partial"
    for text in ("/dev/shm has 64 MiB", "--shm-size", "ulimit -l", "ulimit -n"):
        assert text in found.summary
    monkeypatch.setattr(limits, "_shm_size", lambda: 8 << 30)
    monkeypatch.setattr(limits, "_limit", lambda kind: None)
    assert limits.limits().outcome == "ok"


def test_a_real_driver_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LOG_FILE", "")
    monkeypatch.setattr(ask, "driver", lambda: SimpleNamespace())  # any call would raise
    monkeypatch.setattr(ask, "ours", lambda: None)
    found = trial.trial()
    assert (found.outcome, found.causes) == ("not-available", ())
    assert "makes no multicast object there" in found.summary


def test_a_check_that_raises_is_a_result() -> None:
    def broken() -> Result:
        raise ValueError("not so")

    found = guarded(Check("broken", "", broken, apart=False))
    assert (found.outcome, found.summary) == ("crashed", "the check failed: ValueError: not so")
    assert "test_doctor_parts.py" in found.details["traceback"]


def test_a_child_that_says_nothing_is_a_result() -> None:
    found = run(Check("no-such-check", "", checks()["mig"].function, apart=True))
    assert (found.outcome, found.summary) == ("crashed", "the check ended with code 1")
    assert "KeyError" in found.details["stderr"]


def results(**outcomes: str) -> list[Result]:
    return [Result(name.replace("_", "-"), outcome, name) for name, outcome in outcomes.items()]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcomes", "answer"),
    [
        ({"driver": "ok", "devices": "ok", "fabric": "ok"}, "works"),
        ({"driver": "ok", "devices": "ok", "fabric": "not-available", "limits": "partial"}, "works"),
        ({"driver": "ok", "devices": "ok", "fabric": "missing"}, "cannot"),
        ({"driver": "ok", "devices": "crashed", "fabric": "ok"}, "unknown"),
        ({"driver": "ok", "devices": "ok", "fabric": "crashed"}, "unknown"),
        ({"driver": "ok", "devices": "ok", "imex": "missing"}, "works"),
        ({"fabric": "ok"}, "unknown"),
        ({"trial": "ok"}, "works"),
        ({"devices": "partial", "trial": "partial"}, "works"),
        ({"trial": "not-available"}, "unknown"),
        ({"driver": "missing", "trial": "ok"}, "cannot"),
        ({"packages": "missing", "driver": "not-available", "devices": "not-available"}, "unknown"),
    ],
)
def test_the_verdict(outcomes: dict[str, str], answer: str) -> None:
    assert judge(results(**outcomes))[0] == answer


def test_a_verdict_names_what_is_lacking() -> None:
    why = judge(results(driver="ok", devices="partial", fabric="ok"))[1]
    assert why.startswith("the devices say so, but devices;")
    assert judge(results(driver="ok", devices="ok", fabric="ok"))[1].startswith("every query says so;")


class Cuda(SimpleNamespace):
    """A driver of two devices, whose multicast attribute a test names; another driver status for None."""

    def cuInit(self, flags: int) -> tuple[int]:
        return (0,)

    def cuDeviceGetCount(self) -> tuple[int, int]:
        return 0, 2

    def cuDeviceGet(self, ordinal: int) -> tuple[int, int]:
        return 0, ordinal

    def cuDeviceGetName(self, length: int, device: int) -> tuple[int, bytes]:
        return 0, b"X\0"

    def cuDeviceGetAttribute(self, attribute: str, device: int) -> tuple[int, int]:
        value = self.values[device] if attribute.endswith("MULTICAST_SUPPORTED") else 1
        return (999, 0) if value is None else (0, value)


@pytest.mark.parametrize(
    ("values", "outcome", "cause"),
    [
        ((1, 1), "ok", ()),
        ((0, 0), "missing", ("multicast-unsupported-topology",)),
        ((1, 0), "partial", ("multicast-unsupported-topology",)),
        ((1, None), "partial", ()),
        ((None, None), "not-available", ()),
    ],
)
def test_a_query_that_fails_is_no_answer_no(
    monkeypatch: pytest.MonkeyPatch, values: tuple, outcome: str, cause: tuple
) -> None:
    names = SimpleNamespace(**{name: name for name in devices.ATTRIBUTES.values()})
    monkeypatch.setattr(ask, "driver", lambda: Cuda(values=values, CUdevice_attribute=names))
    found = devices.devices()
    assert (found.outcome, found.causes) == (outcome, cause)
    assert json.dumps(found.as_dict())


def test_what_is_shared_names_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "gpu-node-17.example.org")
    monkeypatch.setattr("socket.getfqdn", lambda: "gpu-node-17.example.org")
    monkeypatch.setattr("getpass.getuser", lambda: "mallory")
    monkeypatch.setenv("HOME", "/mnt/people/mallory")
    secret = {
        "uuid": "GPU-44ebd0d9-99b8-9ec5-95fc-93906f627fcf",
        "lines": [
            "gpu-node-17 kernel: hello",
            "from 10.11.12.13 and fe80::1 and 2001:db8:0:0:1:0:0:1",
            {"path": "/home/eve/x and /mnt/people/mallory/y"},
        ],
        "owner": "mallory",
        "card": "0c:42:a1:00:00:01",
        "kept": "[08:30:12.123] std::vector at 00000000:86:00.0, c10::Error, 0xab :: 5",
        "driver": "580.159.04",
        "size": 7,
    }
    told = Result("x", "ok", "on gpu-node-17.example.org for mallory", secret, ("fm-not-running",))
    shared = shareable(Report((told,), "works", "see /root/log on gpu-node-17"))
    text = json.dumps(shared.as_dict())
    for word in ("44ebd0d9", "gpu-node-17", "mallory", "eve", "10.11.12.13", "/root", "fe80", "2001:db8", "0c:42"):
        assert word not in text
    [result] = shared.results
    assert (result.details["driver"], result.details["size"]) == ("580.159.04", 7)
    assert result.summary == "on HOST for USER"
    assert result.details["kept"] == secret["kept"]
    assert result.causes == ("fm-not-running",)


def test_every_cause_that_the_doctor_names_is_in_the_list() -> None:
    sources = "".join(path.read_text() for path in Path(fabric.__file__).parent.glob("*.py"))
    named = [slug for slug in causes() if f'"{slug}"' in sources]
    assert len(named) >= 15
    quoted = set(re.findall(r'"([a-z]+(?:-[a-z]+){1,4})"', sources))
    heads = ("fm", "imex", "fabric", "mig", "cc", "clique", "multicast", "fd", "nvlink")
    assert {word for word in quoted if word.split("-")[0] in heads} - set(causes()) <= {"fabric-manager"}


def test_a_library_that_is_not_there_is_named() -> None:
    lacking = type("DynamicLibNotFoundError", (RuntimeError,), {})
    for name, file in (("cuda", "libcuda.so.1"), ("nvml", "libnvidia-ml.so.1")):
        error = lacking(f'"{name}" is an NVIDIA driver library and can only be found via system search. Ensure')
        assert ask._lacking(error) == f"there is no {file} on this machine"
    assert ask._lacking(RuntimeError('"cuda" has no cuInit')) is None
