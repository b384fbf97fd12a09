"""Calls that rules about launches share."""

PLAIN = ("cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel")
