"""libnvidia-ml.so.1: NVIDIA's management library (NVML) in front of the simulated machine, by libcuda's door."""
