#include "runtime.h"
#include <stdlib.h>
struct ptx_run { struct ptx_launch launch; struct ptx_fault fault; };
struct ptx_run *ptx_run_begin(const struct ptx_launch *l) { struct ptx_run *r = calloc(1, sizeof *r); if (r) r->launch = *l; return r; }
int ptx_run_turn(struct ptx_run *r) { (void)r; return PTX_FINISHED; }
void ptx_run_stop(struct ptx_run *r, uint32_t s, const char *x) { r->fault.status = s; (void)x; }
const struct ptx_fault *ptx_run_fault(const struct ptx_run *r) { return &r->fault; }
void ptx_run_end(struct ptx_run *r) { free(r); }
_Noreturn void ptx_fail(struct ptx_warp *warp, uint32_t instruction, uint32_t status, uint32_t lane, uint64_t address, const char *reason) { (void)warp; (void)instruction; (void)status; (void)lane; (void)address; (void)reason; abort(); }
