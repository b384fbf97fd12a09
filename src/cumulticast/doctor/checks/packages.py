"""Which of the libraries that use multicast are installed, and in which version; none of them is imported."""

from __future__ import annotations

from importlib.metadata import distributions

from cumulticast.doctor.register import check
from cumulticast.doctor.result import Result

#: Distribution names by what they bring; the first that is installed counts.
WANTED = {
    "cuda-bindings": ("cuda-bindings",),
    "cuda-core": ("cuda-core",),
    "NCCL": ("nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11"),
    "NVSHMEM": ("nvidia-nvshmem-cu13", "nvidia-nvshmem-cu12"),
    "nvshmem4py": ("nvshmem4py-cu13", "nvshmem4py-cu12"),
    "torch": ("torch",),
    "jax": ("jax",),
    "cupy": ("cupy-cuda13x", "cupy-cuda12x"),
    "vllm": ("vllm",),
    "sglang": ("sglang",),
    "mscclpp": ("mscclpp",),
    "nvidia-ml-py": ("nvidia-ml-py",),
}


@check("packages", "versions of cuda.bindings, NCCL, torch, NVSHMEM and others")
def packages() -> Result:
    """Read what importlib.metadata knows."""
    installed: dict[str, str] = {}
    for found in distributions():  # in the order of sys.path: the first of a name is the one that is imported
        installed.setdefault(str(found.metadata["Name"]).lower(), found.version)
    versions = {
        name: next((installed[choice] for choice in choices if choice in installed), None)
        for name, choices in WANTED.items()
    }
    present = {name: version for name, version in versions.items() if version}
    if "cuda-bindings" not in present:
        summary = "cuda-bindings is not installed: the driver cannot be asked (pip install 'cuda-bindings>=13.5,<13.6')"
        return Result("packages", "missing", summary, present)
    return Result("packages", "ok", ", ".join(f"{name} {version}" for name, version in present.items()), present)
