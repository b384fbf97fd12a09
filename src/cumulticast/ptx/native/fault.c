/* How a kernel ends that does what it must not: the thread leaves the machine code at once, and the launch has a fault.
 *
 * Accesses are checked before they are made; what the host's MMU still refuses (a file system that is full, memory that
 * went while the kernel ran) arrives as a signal. Signals of other code go to whoever had them before. */
#define _GNU_SOURCE
#include "memory.h"
#include "run.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>

_Thread_local struct turn *turn_now;
static struct sigaction before[NSIG];

static void note(struct ptx_run *run, const struct ptx_fault *fault) {
    pthread_mutex_lock(&run->lock);
    if (!run->fault.status) run->fault = *fault;
    pthread_mutex_unlock(&run->lock);
    atomic_store(&run->stopped, true);
}

void fault_describe(struct ptx_fault *fault, const struct ptx_warp *warp, uint32_t lane) {
    memcpy(fault->block, warp->ctaid, sizeof fault->block);
    const int32_t *tid = warp->tid;
    for (int axis = 0; axis < 3; axis++) fault->thread[axis] = (uint32_t)tid[axis * PTX_LANES + (int)(lane % PTX_LANES)];
}

_Noreturn void ptx_fail(struct ptx_warp *warp, uint32_t instruction, uint32_t status, uint32_t lane, uint64_t address,
                        const char *reason) {
    struct ptx_fault fault = { .status = status, .instruction = instruction, .address = address };
    fault_describe(&fault, warp, lane);
    snprintf(fault.reason, sizeof fault.reason, "%s", reason);
    note(turn_now->run, &fault);
    siglongjmp(turn_now->back, 1);
}

_Noreturn void ptx_trap(struct ptx_warp *warp, uint32_t instruction, uint32_t active) {
    ptx_fail(warp, instruction, PTX_LAUNCH_FAILED, active ? (uint32_t)__builtin_ctz(active) : 0, 0, "trap");
}

/* ---- signals ---------------------------------------------------------------------------------------------------- */

static const int watched[] = { SIGSEGV, SIGBUS };

/* The ordinary end: an access is made again on return, what was sent has to be sent again. */
static void end_process(int number, const siginfo_t *info, const struct sigaction *how) {
    sigaction(number, how, NULL);
    if (info->si_code <= 0) raise(number);
}

/* A handler that was set between two launches may know ours as the one before it and raise the signal for it (Python's
 * faulthandler does): then everybody has been asked. */
static void pass_on(int number, siginfo_t *info, void *context) {
    static _Thread_local volatile sig_atomic_t passing;
    const struct sigaction *old = &before[number], ordinary = { .sa_handler = SIG_DFL };
    if (passing && info->si_code <= 0) {
        end_process(number, info, &ordinary);
        return;
    }
    passing = 1;
    if (old->sa_flags & SA_SIGINFO) old->sa_sigaction(number, info, context);
    else if (old->sa_handler == SIG_DFL) end_process(number, info, old);
    else if (old->sa_handler != SIG_IGN) old->sa_handler(number);
    else if (info->si_code > 0) sigaction(number, old, NULL); /* the host ends the process, ignored or not */
    passing = 0;
}

static void caught(int number, siginfo_t *info, void *context) {
    struct turn *turn = turn_now;
    if (!turn || info->si_code <= 0) {
        pass_on(number, info, context);
        return;
    }
    struct ptx_fault fault = { .status = PTX_ILLEGAL_ADDRESS, .address = (uint64_t)(uintptr_t)info->si_addr };
    if (turn->warp) {
        fault.instruction = turn->warp->instruction;
        fault_describe(&fault, turn->warp, 0);
    }
    snprintf(fault.reason, sizeof fault.reason, "%s",
             number == SIGBUS ? "the host has no memory for this page of the allocation (a full file system, most often)"
                              : "the host refuses this access: memory may have gone while the kernel ran");
    note(turn->run, &fault);
    siglongjmp(turn->back, 1);
}

/* Others may have set handlers since the last launch; ours has to be the first asked. */
void faults_watch(void) {
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
        struct sigaction now;
        if (sigaction(watched[i], NULL, &now) || ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == caught)) continue;
        before[watched[i]] = now;
        struct sigaction ours = { .sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
        sigaction(watched[i], &ours, NULL);
    }
}
