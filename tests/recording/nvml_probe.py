"""Ask NVML every question of our call table once, on the machine at hand, and print what it answered as JSON.

It only asks: of the entries that we answer those whose names begin with nvmlDeviceGet, nvmlSystemGet or nvmlDeviceOn,
each with the arguments of ARGUMENTS. UUIDs, serial numbers and process ids are left out. ``--hold BYTES`` holds a
context and that much plain memory of device 0 meanwhile, so that there is a process to tell of.

    PYTHONPATH=src python tests/recording/nvml_probe.py --hold 67108864 > h200-nvml.json
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import os
from itertools import product

from cumulticast.libcuda.table import Entry, Param
from cumulticast.libnvml.entry import entries

KINDS = {"u32": ctypes.c_uint32, "i32": ctypes.c_int32, "u64": ctypes.c_uint64, "ptr": ctypes.c_void_p}
PRIVATE = ("UUID", "Serial", "ProcessName")
#: What to ask for a number that the caller chooses, by the name of the parameter.
ARGUMENTS = {
    "link": (0, 1, 17, 18, 35, 36),
    "capability": (0, 1, 2, 5, 6),
    "counter": (0, 5),
    "type": (0, 1, 2, 3, 4),
    "sensorType": (0, 1),
    "index": (0, 1),
    "level": (10, 40, 50),
    "p2pIndex": (0, 2, 3),
    "errorType": (0, 2),
    "counterType": (0,),
    "lastSeenTimeStamp": (0,),
    "flags": (0,),
}
FIELDS = ((82, 0), (90, 0), (91, 0), (164, 0), (164, 17), (164, 18), (165, 0), (166, 0), (185, 0), (186, 0), (9999, 0))
VERSIONS = {"nvmlDeviceGetGpuFabricInfoV": (2, 3, 1), "nvmlDeviceGetMemoryInfo_v2": (2, 1)}
NOBODY = b"GPU-00000000-0000-0000-0000-000000000000"
SIZES = {("nvmlDeviceGetGpuFabricInfoV", 2): 36}


def argument_sets(entry: Entry, device: int):
    """Yield what to give for each parameter that is passed by value, as a mapping."""
    chosen = [param for param in entry.params if param.direction == "value" and param.kind != "ptr"]
    choices = [ARGUMENTS.get(param.name, (0,)) for param in chosen]
    for numbers in product(*choices):
        given = dict(zip((param.name for param in chosen), numbers, strict=True))
        yield given | {param.name: device for param in entry.params if param.kind == "ptr"}


class Outputs:
    """The buffers of one call."""

    def __init__(self, entry: Entry, given: dict[str, int], number: int) -> None:
        self.entry, self.given, self.buffers = entry, given, {}
        for param in entry.params:
            if param.direction in ("out", "inout"):
                self.buffers[param.name] = self._buffer(param, number)

    def _buffer(self, param: Param, number: int):
        if param.count:
            return (ctypes.c_char * (param.size * (128 if param.size == 1 else 16)))()
        if param.kind != "bytes":
            return KINDS[param.kind](16 if param.direction == "inout" else 0)
        buffer = (ctypes.c_char * param.size)()
        if param.direction == "inout":
            size = SIZES.get((self.entry.symbol, number), param.size)
            ctypes.c_uint32.from_buffer(buffer).value = size | number << 24
        return buffer

    def argument(self, param: Param):
        if param.name in self.buffers:
            return ctypes.byref(self.buffers[param.name])
        value = self.given[param.name]
        value = {"length": 128, "valuesCount": 1}.get(param.name, value)
        return KINDS[param.kind](value)

    def read(self) -> dict[str, object]:
        return {name: self._read(name, buffer) for name, buffer in self.buffers.items()}

    def _read(self, name: str, buffer):
        if hasattr(buffer, "value") and not isinstance(buffer, ctypes.Array):
            return buffer.value
        param = next(param for param in self.entry.params if param.name == name)
        return buffer.value.decode() if param.size == 1 else buffer.raw.rstrip(b"\0").hex()


def ask(library: ctypes.CDLL, entry: Entry, device: int):
    """Yield the answers of one entry: [arguments, status, outputs]."""
    function = getattr(library, entry.symbol, None)
    if function is None:
        yield [{}, None, {}]
        return
    for number in VERSIONS.get(entry.symbol, (1,)):
        for given in argument_sets(entry, device):
            outputs = Outputs(entry, given, number)
            status = function(*map(outputs.argument, entry.params))
            shown = {name: value for name, value in given.items() if value != device and name != "length"}
            shown |= {"version": number} if entry.symbol in VERSIONS else {}
            private = any(word in entry.symbol for word in PRIVATE)
            yield [shown, status, {} if private or status else outputs.read()]


def fields(library: ctypes.CDLL, device: int):
    """Yield the answers to single fields: [field, scope, status of the call, status of the field, type, value]."""
    for field, scope in FIELDS:
        buffer = (ctypes.c_char * 40)()
        words = (ctypes.c_uint32 * 10).from_buffer(buffer)
        words[0], words[1] = field, scope
        status = library.nvmlDeviceGetFieldValues(ctypes.c_void_p(device), 1, ctypes.byref(buffer))
        yield [field, scope, status, words[7], words[6], words[8] | words[9] << 32]


def processes(library: ctypes.CDLL, device: int):
    """Answer the compute processes: whether this one is among them, and their memory."""
    count, infos = ctypes.c_uint32(16), (ctypes.c_uint64 * 48)()
    function = library.nvmlDeviceGetComputeRunningProcesses_v3
    status = function(ctypes.c_void_p(device), ctypes.byref(count), ctypes.byref(infos))
    rows = [[infos[3 * k] & 0xFFFFFFFF == os.getpid(), infos[3 * k + 1]] for k in range(count.value)]
    short = ctypes.c_uint32(0)
    none = function(ctypes.c_void_p(device), ctypes.byref(short), None)
    return {"status": status, "is_this_and_used": rows, "count_without_room": [none, short.value]}


def hold(size: int):
    """Hold a context and plain memory of device 0."""
    from cuda.bindings import driver as cu

    cu.cuInit(0)
    context = cu.cuDevicePrimaryCtxRetain(0)[1]
    cu.cuCtxSetCurrent(context)
    return cu.cuMemAlloc(size)[1]


def main() -> None:
    """Print the recording."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hold", type=int, default=0, metavar="BYTES")
    args = parser.parse_args()
    library = ctypes.CDLL("libnvidia-ml.so.1")
    library.nvmlErrorString.restype = ctypes.c_char_p
    before = library.nvmlDeviceGetCount_v2(ctypes.byref(ctypes.c_uint32()))
    library.nvmlInit_v2()
    device = ctypes.c_void_p()
    library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device))
    handle = device.value or 0
    held = hold(args.hold) if args.hold else None
    wanted = [
        entry
        for entry in entries()
        if entry.params
        and entry.symbol.startswith(("nvmlDeviceGet", "nvmlSystemGet", "nvmlDeviceOn"))
        and not any(param.direction == "in" or param.name == "values" for param in entry.params)
        and "HandleBy" not in entry.symbol
        and "ProcessName" not in entry.symbol
        and "RunningProcesses" not in entry.symbol
    ]
    recorded = {
        "machine": {"date": datetime.date.today().isoformat(), "held": args.hold},
        "before_init": before,
        "error_strings": {k: library.nvmlErrorString(k).decode() for k in (*range(32), 999, 1000)},
        "answers": {entry.symbol: list(ask(library, entry, handle)) for entry in wanted},
        "fields": list(fields(library, handle)),
        "processes": processes(library, handle),
        "wrong_handle": library.nvmlDeviceGetIndex(ctypes.c_void_p(0), ctypes.byref(ctypes.c_uint32())),
        "null_output": library.nvmlDeviceGetIndex(device, None),
        "short_name": library.nvmlDeviceGetName(device, ctypes.create_string_buffer(4), 4),
        "unknown_uuid": library.nvmlDeviceGetHandleByUUID(NOBODY, ctypes.byref(device)),
        "unknown_pci": library.nvmlDeviceGetHandleByPciBusId_v2(b"0000:FE:00.0", ctypes.byref(device)),
        "bad_pci": library.nvmlDeviceGetHandleByPciBusId_v2(b"nonsense", ctypes.byref(device)),
        "index_too_high": library.nvmlDeviceGetHandleByIndex_v2(64, ctypes.byref(device)),
    }
    del held
    print(json.dumps(recorded, indent=1))


if __name__ == "__main__":
    main()
