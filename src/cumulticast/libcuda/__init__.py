"""The door: the C ABI of libcuda.so.1 in front of the software driver."""
