"""What a consumer of DLPack does, in ctypes, with the structures as dlpack.h has them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

api = ctypes.pythonapi
api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # ctypes lets go of the interpreter's lock while it calls
USED = {name: b"used_" + name for name in (b"dltensor", b"dltensor_versioned")}  # a capsule only points at its name


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class DLManagedTensor(ctypes.Structure):
    _fields_ = (("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER))


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    )


FORMS = {b"dltensor": DLManagedTensor, b"dltensor_versioned": DLManagedTensorVersioned}


@dataclass(frozen=True)
class Taken:
    """A tensor that was taken from a capsule."""

    name: bytes
    address: int

    @property
    def managed(self) -> DLManagedTensor | DLManagedTensorVersioned:
        return FORMS[self.name].from_address(self.address)

    @property
    def tensor(self) -> DLTensor:
        return self.managed.tensor

    @property
    def shape(self) -> list[int]:
        return self.tensor.shape[: self.tensor.ndim]

    @property
    def strides(self) -> list[int]:
        return self.tensor.strides[: self.tensor.ndim]

    def let_go(self) -> None:
        self.managed.deleter(self.address)


def take(capsule: object) -> Taken:
    """Take the tensor of a capsule, as the protocol has it: rename the capsule, delete the tensor later."""
    name = api.PyCapsule_GetName(capsule)
    address = api.PyCapsule_GetPointer(capsule, name)
    api.PyCapsule_SetName(capsule, USED[name])
    return Taken(name, address)
