"""Control flow of a kernel: blocks, their order, which lanes run where, and what a suspended warp has to keep."""
