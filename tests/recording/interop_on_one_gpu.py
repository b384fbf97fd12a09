"""Ask a real driver, torch, cupy and cuda.core whether they take a team's memory. Prints JSON; needs one GPU.

    python tests/recording/interop_on_one_gpu.py

Two ranks on one device, over peer memory: no multicast object is made. What is not installed is said to be missing.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import cumulticast
from cumulticast import SymmetricArray, Team, driver

DTYPES = ("float32", "float16", "bfloat16", "int32", "uint8", "float8_e4m3fn", "float8_e5m2", "bool", "complex64")
SHAPE = (3, 5)
NAME_LENGTH = 96
SOURCES = Path(cumulticast.__file__).parents[1]


def main() -> None:
    """Ask everything on one team and print the answers."""
    with Team.local([0, 0], require_multicast=False) as team:
        driver.ctx_set_current(driver.device_primary_ctx_retain(0))
        answers = {
            "driver": driver.driver_get_version(),
            "device": driver.device_get_name(NAME_LENGTH, 0).split(b"\0")[0].decode(),
            "why_not": team.why_not,
            "numpy": answer(lambda: refusals(team)),
            **{name: answer(lambda ask=ask: ask(team)) for name, ask in LIBRARIES.items()},
        }
    driver.device_primary_ctx_release_v2(0)
    print(json.dumps(answers, indent=1))


def answer(ask: Callable[[], Any]) -> Any:
    """Answer what was found, or the last line of what went wrong."""
    try:
        return ask()
    except ImportError as error:
        return f"missing: {error}"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        name = last.filename.removeprefix(f"{SOURCES}/")  # where the package lies is nobody's concern
        return {"failed": str(error), "at": f'File "{name}", line {last.lineno}, in {last.name}'}


def refusals(team: Team) -> dict[str, str]:
    """What numpy says: to our capsule, and we to it."""
    said: dict[str, str] = {}
    with team.empty(SHAPE) as array:
        for name, ask in {
            "from_dlpack": lambda: np.from_dlpack(array.replica(0)),
            "numpy": lambda: array.numpy(0),
        }.items():
            try:
                ask()
            except (BufferError, RuntimeError) as error:
                said[name] = f"{type(error).__name__}: {error}"
            else:
                said[name] = "it took it"
    return said


def put(array: SymmetricArray, rank: int, content: bytes) -> None:
    """Copy from the host, outside of all libraries asked."""
    array.set(np.frombuffer(content, array.dtype).reshape(array.shape), rank)


def got(array: SymmetricArray, rank: int) -> bytes:
    """Copy to the host, outside of all libraries asked."""
    return array.get(rank).tobytes()


def for_each_type(team: Team, ask: Callable[[SymmetricArray], dict[str, Any]]) -> dict[str, Any]:
    """Ask about an array of each type; tensors must be gone when it closes."""
    found: dict[str, Any] = {}
    for dtype in DTYPES:
        array = team.empty(SHAPE, dtype)
        found[dtype] = answer(lambda array=array: ask(array))
        found[dtype] = {"answers": found[dtype], "alive": array.exports.alive, "closes": answer(array.close)}
    return found


def torch_of(team: Team) -> dict[str, Any]:
    """Read through torch what the driver wrote, write through torch what the driver reads, on a stream of torch's."""
    torch: Any = import_module("torch")

    def ask(array: SymmetricArray) -> dict[str, Any]:
        content = (
            bytes(range(array.nbytes % 256))
            if array.dtype.kind != "b"
            else bytes([1, 0] * array.nbytes)[: array.nbytes]
        )
        put(array, 1, content)
        with torch.cuda.stream(torch.cuda.Stream()):
            tensor = torch.from_dlpack(array.replica(1))
            read = bytes(tensor.view(torch.uint8).cpu().flatten().tolist())
            torch.from_dlpack(array.replica(0)).copy_(tensor)
            torch.cuda.current_stream().synchronize()
        return {
            "dtype": str(tensor.dtype), "device": str(tensor.device), "shape": list(tensor.shape),
            "same address": tensor.data_ptr() == array.peer(1), "read": read == content,
            "written": got(array, 0) == content,
        }  # fmt: skip

    return {"version": torch.__version__, **for_each_type(team, ask)}


def cupy_of(team: Team) -> dict[str, Any]:
    """Take each type by DLPack, and by the array interface where that has it."""
    cupy: Any = import_module("cupy")

    def ask(array: SymmetricArray) -> dict[str, Any]:
        content = bytes(index % 2 for index in range(array.nbytes))
        put(array, 1, content)
        taken = cupy.from_dlpack(array.replica(1))
        interface = hasattr(array.replica(1), "__cuda_array_interface__")
        return {
            "dtype": str(taken.dtype), "device": str(taken.device), "shape": list(taken.shape),
            "same address": taken.data.ptr == array.peer(1), "read": cupy.asnumpy(taken).tobytes() == content,
            "interface": interface and cupy.asarray(array.replica(1)).data.ptr == array.peer(1),
        }  # fmt: skip

    return {"version": cupy.__version__, **for_each_type(team, ask)}


def core_of(team: Team) -> dict[str, Any]:
    """View each type through cuda.core by both protocols, in order with one of its streams."""
    core: Any = import_module("cuda.core")
    view: Any = import_module("cuda.core.utils").StridedMemoryView
    device = core.Device(0)
    device.set_current()
    stream = device.create_stream()

    def ask(array: SymmetricArray) -> dict[str, Any]:
        content = bytes(index % 2 for index in range(array.nbytes))
        put(array, 1, content)
        seen = view.from_dlpack(array.replica(1), stream_ptr=int(stream.handle))
        other = answer(lambda: view.from_cuda_array_interface(array.replica(1), stream_ptr=int(stream.handle)).ptr)
        return {
            "dtype": str(seen.dtype), "device": seen.device_id, "shape": list(seen.shape),
            "same address": seen.ptr == array.peer(1), "kept": got(array, 1) == content,
            "interface": other == array.peer(1) or other,
        }  # fmt: skip

    found = {"version": core.__version__, **for_each_type(team, ask)}
    stream.close()
    return found


LIBRARIES = {"torch": torch_of, "cupy": cupy_of, "cuda.core": core_of}

if __name__ == "__main__":
    main()
