// What a kernel is told. program.py says what is defined on the command line:
//   MOST_RANKS       what the pad has room for
//   FLAGS, HALF      where the flags begin in a pad, bytes; half of the scratch, bytes
//   THREADS, UNROLL  of a block; vectors that a thread has on its way at a time
//   KIND, REDUCE     a type and an operation of types.h; not for spread.cu
//   FORM             what multimem.ld_reduce is called for them; not defined where there is none
//
// Nothing of NVIDIA's is included: NVRTC's wheel has no headers.
#pragma once
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;

constexpr u32 NOBODY = ~0u;

struct Call {
    u64 data[MOST_RANKS]; // addresses of each rank's memory: of the array, in one-shot kernels of the scratch
    u64 pad[MOST_RANKS];
    u64 data_mc, pad_mc;  // the same through the switch, 0 without it
    u64 own;              // this rank's replica of the array
    u64 told;             // a word of the host's
    u64 timeout;          // nanoseconds
    u64 first, bytes;     // what this rank works on
    u64 chunk;            // bytes that lie between the parts of one rank and of the next
    u32 chunks, mine;     // how many parts there are, and which is this rank's
    u32 rank, size, source, everywhere, name;
};

// One block suffices on a multiprocessor, so that nothing is spilled: local memory can make a first launch wait.
#define ENTRY(name, call) extern "C" __global__ void __launch_bounds__(THREADS, 1) name(const __grid_constant__ Call call)
