/* The runtime of kernels: what machine code calls, and what Python calls to run it.
 *
 * Functions that machine code calls begin with ptx_ and have default visibility; runtime.py finds them by name.
 * Those that take lanes have the form  void ptx_NAME(int n, out…, in…)  with arrays of n elements. */
#ifndef PTX_RUNTIME_H
#define PTX_RUNTIME_H
#include <stddef.h>
#include <stdint.h>
#include "layout.h"

/* Machine code of a kernel: carries one warp on from place `resume`, answers why it stopped (enum Reason in layout.py). */
typedef uint32_t ptx_code(struct ptx_warp *warp, uint32_t resume);

/* End the kernel: the warp is left at once, and `status` is the launch's. For use by machine code and what it calls. */
_Noreturn void ptx_fail(struct ptx_warp *warp, uint32_t instruction, uint32_t status, uint32_t lane, uint64_t address,
                        const char *reason);

// cffi
/* Why a kernel was ended. */
struct ptx_fault {
    uint32_t status;      /* CUresult: 700, 710, 716, 719, 702 (time limit) …; 0: none */
    uint32_t instruction; /* number of the instruction in the kernel; the compiler knows its line */
    uint32_t block[3];
    uint32_t thread[3];
    uint64_t address;
    char reason[512];     /* one line for people, without kernel name and line */
};

/* One kernel launch, made by Python, copied by ptx_run_begin. */
struct ptx_launch {
    struct ptx_launch_head head;
    void *code;             /* ptx_code * */
    const void *params;     /* parameter bytes, copied */
    uint32_t params_size;
    uint32_t frame_size;    /* bytes behind a warp: places and registers */
    uint32_t places;        /* how many pending masks begin the frame */
    uint32_t fair;          /* lanes of a warp may wait for each other: go round the places */
    uint32_t cooperative;   /* all blocks are resident at once */
    const uint64_t *symbols;
    const uint8_t *rights;
    double seconds;         /* time limit; 0: none */
    uint64_t work;          /* rough bytes a block touches, for dealing blocks out; 0: unknown */
    struct ptx_adversary *adversary; /* NULL: memory is plain */
    uint64_t ordinal;       /* of the adversary's launches, from 1 on; 0: as they begin */
    void *withheld;         /* the multicast table, where machine code is not to find it (adversary.c) */
};

struct ptx_run;
/* Make a launch ready to run; NULL when the host has no memory for it. */
struct ptx_run *ptx_run_begin(const struct ptx_launch *launch);
/* What a turn came to. */
enum { PTX_MOVED = 1, PTX_IDLE = 2, PTX_FINISHED = 3 };
/* Carry a launch on for a while (some 100 µs). Any number of threads may be in here at once; IDLE: what is resident
 * waits for memory to change, and nothing new can start. FINISHED: all blocks have ended, or one failed. */
int ptx_run_turn(struct ptx_run *run);
/* Ask all threads that are in a turn of this launch to come back soon; the launch ends with `status`. */
void ptx_run_stop(struct ptx_run *run, uint32_t status, const char *reason);
/* Of a launch that was stopped and that nobody is in any more: note in its fault where a thread stands that has not ended,
 * and at which access to memory it was last. */
void ptx_run_look(struct ptx_run *run);
/* The fault, once FINISHED; status 0 if there is none. */
const struct ptx_fault *ptx_run_fault(const struct ptx_run *run);
/* Give everything back; nobody may be in a turn. */
void ptx_run_end(struct ptx_run *run);

const char *ptx_runtime_version(void);
// end
#endif
