"""KERNELS: PTX text becomes machine code of this host, multicast instructions included."""
