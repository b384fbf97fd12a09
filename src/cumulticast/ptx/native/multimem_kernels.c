/* The multicast arithmetic of the simulator, built for what a warp moves at a time: 256 elements of 4 bytes. */
#define BLOCK_BYTES 1024
#include "../../sim/native/load_reduce.c"
