/* libcuda.so.1: the C ABI of the CUDA driver, in front of a driver written in Python.
 *
 * Every exported entry does the same four things: it checks the pointers it was given (a wild or null pointer is an
 * answer, not a crash), copies input structures in, hands argument words to one Python function, and copies the
 * outputs to the caller when, and only when, the answer is CUDA_SUCCESS. What differs between entries is data:
 * entries.inc, generated from calls.txt.
 *
 * This file uses no symbol of Python: it must load into C programs, where it starts an interpreter of its own, and
 * into Python processes, whose interpreter it uses. It fails closed: when no driver can be started every call answers
 * CUDA_ERROR_UNKNOWN (999) and stderr says why.
 */
#define _GNU_SOURCE
#include <Python.h> /* types and macros only: every function is looked up at run time */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "door.h"

#define EXPORT __attribute__((visibility("default")))
#define MAX_PARAMS 16
#define SMALL_INPUTS 512
#define TEXT_MAX 4096

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_INITIALIZED = 3, DEINITIALIZED = 4, UNKNOWN = 999 };
enum direction { SCALAR, TEXT, IN, OUT, INOUT };

/* One parameter of one entry. `width` is the size in bytes of a scalar or of one output word; `size` that of one
 * element of a structure or array; `count` the index of the parameter that holds the number of elements, or -1. */
struct param { uint8_t direction, width, is_signed, optional; int8_t count; uint32_t size; };
struct entry { const char *symbol; uint8_t params; struct param param[MAX_PARAMS]; };

#include "entries.inc" /* static const struct entry entries[]; enum { ENTRY_COUNT, ENTRY_cuInit … } */

static struct door_callbacks callbacks;
static atomic_int serving;    /* callbacks are in place */
static atomic_int closing;    /* the interpreter is going away: answer 4, touch nothing */
static atomic_int initialised; /* cuInit has succeeded in this process */
static atomic_int forked;     /* this is a child of an initialised process: answer 3 */
static pthread_once_t fork_handler = PTHREAD_ONCE_INIT;

static void in_child(void) { if (initialised) forked = 1; }
static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

/* A number of its own for every thread; unlike thread ids these are not reused. */
static uint64_t thread_serial(void)
{
    static atomic_uint_fast64_t last;
    static __thread uint64_t mine;
    if (!mine) mine = ++last;
    return mine;
}

/* ---- foreign pointers -------------------------------------------------------------------------------------- */

/* Whether the four aligned bytes around `at` can be written. The kernel ORs zero into them: nothing changes, and a
 * bad address is EFAULT instead of a signal. A kernel that forbids the call is taken to say yes. */
static bool word_writable(uintptr_t at)
{
    uint32_t *word = (uint32_t *)(at & ~(uintptr_t)3);
    long r = syscall(SYS_futex, word, FUTEX_WAKE_OP_PRIVATE, 0, 0UL, word,
                     FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, -1));
    return r >= 0 || errno != EFAULT;
}

static bool range_writable(uintptr_t at, size_t size)
{
    static long page;
    if (!page) page = sysconf(_SC_PAGESIZE);
    if (!at || at + size < at) return false;
    for (uintptr_t p = at; p < at + size; p = (p | (uintptr_t)(page - 1)) + 1)
        if (!word_writable(p)) return false;
    return true;
}

static bool copy_in(void *to, uintptr_t from, size_t size)
{
    struct iovec local = { to, size }, remote = { (void *)from, size };
    ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (n == (ssize_t)size) return true;
    if (n >= 0 || errno == EFAULT) return false;
    memcpy(to, (void *)from, size); /* a container may forbid the call; then the pointer is trusted, as elsewhere */
    return true;
}

/* ---- one call ---------------------------------------------------------------------------------------------- */

struct frame {
    uint64_t word[MAX_PARAMS], out[MAX_PARAMS];
    char small[SMALL_INPUTS];
    void *large;
    size_t used;
};

static uint64_t extend(uint64_t value, const struct param *p)
{
    unsigned shift = 64 - 8u * p->width;
    if (!shift || !p->width) return value;
    return p->is_signed ? (uint64_t)((int64_t)(value << shift) >> shift) : value << shift >> shift;
}

/* Copy one input structure or array into the frame, so that nobody can change or unmap it while it is read. */
static int32_t take_input(struct frame *f, const struct entry *e, int k)
{
    const struct param *p = &e->param[k];
    uint64_t count = p->count < 0 ? 1 : f->word[p->count];
    if (!f->word[k]) return p->optional || !count ? FAULT_NONE : FAULT(FAULT_NULL, k);
    if (count > (1u << 24) / p->size) return FAULT(FAULT_UNREADABLE, k);
    size_t size = count * p->size;
    char *place = f->small + f->used;
    if (f->used + size > SMALL_INPUTS) {
        if (f->large || !(f->large = malloc(size))) return FAULT(FAULT_UNREADABLE, k);
        place = f->large;
    } else {
        f->used += (size + 15) & ~(size_t)15;
        if (f->used > SMALL_INPUTS) f->used = SMALL_INPUTS;
    }
    if (size && !copy_in(place, f->word[k], size)) return FAULT(FAULT_UNREADABLE, k);
    f->word[k] = (uintptr_t)place;
    return FAULT_NONE;
}

/* Copy a C string in, page by page: it may end right before an unmapped one. */
static int32_t take_text(struct frame *f, int k, bool optional)
{
    uintptr_t from = f->word[k];
    if (!from) return optional ? FAULT_NONE : FAULT(FAULT_NULL, k);
    if (f->large || !(f->large = malloc(TEXT_MAX + 1))) return FAULT(FAULT_UNREADABLE, k);
    char *text = f->large;
    for (size_t have = 0; have < TEXT_MAX;) {
        size_t piece = 256 - ((from + have) & 255); /* never crosses a page: pages are multiples of 256 bytes */
        if (piece > TEXT_MAX - have) piece = TEXT_MAX - have;
        if (!copy_in(text + have, from + have, piece)) return FAULT(FAULT_UNREADABLE, k);
        if (memchr(text + have, 0, piece)) { f->word[k] = (uintptr_t)text; return FAULT_NONE; }
        have += piece;
    }
    return FAULT(FAULT_UNREADABLE, k);
}

static int32_t check_output(struct frame *f, const struct entry *e, int k, uint64_t address)
{
    const struct param *p = &e->param[k];
    if (!address) return p->optional ? FAULT_NONE : FAULT(FAULT_NULL, k);
    size_t size = p->width;
    if (p->size) {
        uint64_t count = p->count < 0 ? 1 : f->word[p->count];
        if (count > (1u << 24) / p->size) count = (1u << 24) / p->size; /* a capacity: its head will do */
        size = count * p->size;
    }
    if (!range_writable(address, size)) return FAULT(FAULT_UNWRITABLE, k);
    if (p->direction == INOUT) copy_in(&f->word[k], address, p->width);
    return FAULT_NONE;
}

static int32_t take_arguments(struct frame *f, const struct entry *e, const uint64_t *args)
{
    int32_t fault = FAULT_NONE;
    for (int k = 0; k < e->params; k++)
        f->word[k] = e->param[k].direction == SCALAR ? extend(args[k], &e->param[k]) : args[k];
    /* In-out words first: an array's capacity may stand in one. */
    for (int k = 0; k < e->params && !fault; k++)
        if (e->param[k].direction == INOUT) fault = check_output(f, e, k, args[k]);
    for (int k = 0; k < e->params && !fault; k++) {
        if (e->param[k].direction == TEXT) fault = take_text(f, k, e->param[k].optional);
        if (e->param[k].direction == IN) fault = take_input(f, e, k);
        if (e->param[k].direction == OUT) fault = check_output(f, e, k, args[k]);
    }
    return fault;
}

static void give_outputs(const struct frame *f, const struct entry *e, const uint64_t *args)
{
    for (int k = 0; k < e->params; k++) {
        const struct param *p = &e->param[k];
        if (p->direction >= OUT && p->width && args[k]) memcpy((void *)args[k], &f->out[k], p->width);
    }
}

/* Sleep until the word changes, a signal comes or the time is over. Python handed the word out; it stays mapped. */
static int wait_for_change(const uint64_t *out)
{
    struct timespec limit = { (time_t)(out[2] / 1000000000u), (long)(out[2] % 1000000000u) };
    if (syscall(SYS_futex, (uint32_t *)out[0], FUTEX_WAIT, (uint32_t)out[1], &limit, NULL, 0) == 0) return 0;
    return errno == EINTR ? EINTR : 0;
}

static int start(void);

static int enter(int index, const uint64_t *args)
{
    const struct entry *e = &entries[index];
    if (closing) return DEINITIALIZED;
    if (forked) return NOT_INITIALIZED;
    if (!serving && start()) return UNKNOWN;
    struct frame f;
    f.large = NULL;
    f.used = 0;
    int32_t fault = take_arguments(&f, e, args), status;
    for (;;) {
        memset(f.out, 0, sizeof f.out);
        status = callbacks.dispatch(index, fault, thread_serial(), f.word, (int64_t *)f.word, f.out);
        if (status != DOOR_WAIT) break;
        if (wait_for_change(f.out) == EINTR) {
            int raised = callbacks.signals();
            if (!raised) continue;
            status = callbacks.dispatch(index, FAULT(FAULT_INTERRUPTED, 0), thread_serial(), f.word,
                                        (int64_t *)f.word, f.out);
            /* The exception is raised at the caller's next bytecode, which with bindings that raise on a status is
             * reached only when the status is 0. Nobody sees that 0: the exception comes first. */
            if (raised > 0) status = SUCCESS;
            free(f.large);
            return status;
        }
    }
    if (status == SUCCESS) {
        give_outputs(&f, e, args);
        if (index == ENTRY_cuInit && !initialised) { pthread_once(&fork_handler, watch_forks); initialised = 1; }
    }
    free(f.large);
    return status;
}

/* ---- starting ---------------------------------------------------------------------------------------------- */

#define SAY(...) fprintf(stderr, "cumulticast libcuda.so.1: " __VA_ARGS__)
static const char BUILT_FOR[] = DOOR_PYTHON_VERSION; /* "3.11" */

static bool same_python(const char *(*get_version)(void))
{
    const char *running = get_version();
    size_t n = strlen(BUILT_FOR);
    if (!strncmp(running, BUILT_FOR, n) && (running[n] == '.' || running[n] == 0)) return true;
    SAY("built for Python %s, but this process runs Python %.*s; install cumulticast for that Python\n", BUILT_FOR,
        (int)strcspn(running, " "), running);
    return false;
}

/* Where the package lies: this file is <site>/cumulticast/libcuda/libcuda.so.1, perhaps reached by a link. */
static bool site_directory(char *site)
{
    Dl_info self;
    if (!dladdr((void *)site_directory, &self) || !realpath(self.dli_fname, site)) return false;
    for (int up = 0; up < 3; up++) {
        char *slash = strrchr(site, '/');
        if (!slash) return false;
        *slash = 0;
    }
    return true;
}

#define PYTHON(name) __typeof__(&name) p_##name = (__typeof__(&name))dlsym(python, #name)

/* Run cumulticast.libcuda.serve in an interpreter that runs, with its lock held. The package's own directory is put
 * at the end of sys.path for the time, so that programs of another environment find it too. */
static int import_server(void *python)
{
    char site[PATH_MAX + 1], code[PATH_MAX * 2 + 600];
    PYTHON(PyRun_SimpleString);
    if (!p_PyRun_SimpleString || !site_directory(site)) return -1;
    snprintf(code, sizeof code,
             "def _start(site):\n"
             "    import os, sys\n"
             "    extra = [site, *filter(None, os.environ.get('CUMULTICAST_SITE', '').split(os.pathsep))]\n"
             "    extra = [p for p in extra if p not in sys.path]\n"
             "    sys.path.extend(extra)\n"
             "    try:\n"
             "        import cumulticast.libcuda.serve as serve\n"
             "        serve.start_from_host()\n"
             "    finally:\n"
             "        for p in extra: sys.path.remove(p)\n"
             "_start('%s')\n"
             "del _start\n", site);
    if (p_PyRun_SimpleString(code) || !serving) {
        SAY("the software driver could not be started (reason above); every call answers 999\n");
        return -1;
    }
    return 0;
}

static int start_in_running(void *python)
{
    PYTHON(Py_GetVersion);
    PYTHON(PyGILState_Ensure);
    PYTHON(PyGILState_Release);
    if (!p_Py_GetVersion || !p_PyGILState_Ensure || !p_PyGILState_Release || !same_python(p_Py_GetVersion)) return -1;
    PyGILState_STATE state = p_PyGILState_Ensure();
    int r = serving ? 0 : import_server(python);
    p_PyGILState_Release(state);
    return r;
}

static void close_at_exit(void)
{
    uint64_t none[MAX_PARAMS] = { 0 };
    if (serving && !closing && !forked) callbacks.dispatch(-1, FAULT_NONE, 0, none, (int64_t *)none, none);
    closing = 1;
}

/* Start an interpreter in a C program. Isolated: a broken PYTHONHOME in the host's environment must not end it. */
static int start_interpreter(void *python)
{
    PYTHON(Py_GetVersion);
    PYTHON(PyConfig_InitIsolatedConfig);
    PYTHON(PyConfig_SetBytesString);
    PYTHON(Py_InitializeFromConfig);
    PYTHON(PyConfig_Clear);
    PYTHON(PyStatus_Exception);
    PYTHON(PyEval_SaveThread);
    if (!p_Py_GetVersion || !same_python(p_Py_GetVersion) || !p_PyConfig_InitIsolatedConfig || !p_PyEval_SaveThread)
        return -1;
    const char *executable = getenv("CUMULTICAST_PYTHON");
    PyConfig config;
    p_PyConfig_InitIsolatedConfig(&config);
    config.install_signal_handlers = 0;
    config.site_import = 1;
    PyStatus s = p_PyConfig_SetBytesString(&config, &config.executable,
                                           executable && *executable ? executable : DOOR_PYTHON_EXECUTABLE);
    if (!p_PyStatus_Exception(s)) s = p_Py_InitializeFromConfig(&config);
    p_PyConfig_Clear(&config);
    if (p_PyStatus_Exception(s)) {
        SAY("Python %s did not start: %s\n", BUILT_FOR, s.err_msg ? s.err_msg : "no reason given");
        return -1;
    }
    int r = import_server(python);
    p_PyEval_SaveThread();
    if (!r) atexit(close_at_exit);
    return r;
}

static int start(void)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    static int failed;
    if (failed) return -1;
    int (*running)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    /* In a Python process no lock of ours may be held while waiting for the interpreter's: Python's own import lock
     * keeps two starts apart. */
    if (running && running()) return start_in_running(RTLD_DEFAULT);
    pthread_mutex_lock(&once);
    int r = serving ? 0 : -1;
    if (!serving && !failed) {
        void *python = dlopen(DOOR_LIBPYTHON, RTLD_NOW | RTLD_GLOBAL);
        if (!python) SAY("no shared Python library to start in this program: %s\n", dlerror());
        else {
            running = (int (*)(void))dlsym(python, "Py_IsInitialized");
            r = running && running() ? start_in_running(python) : start_interpreter(python);
        }
        failed = r != 0;
    }
    pthread_mutex_unlock(&once);
    return r;
}

/* ---- for the Python half ----------------------------------------------------------------------------------- */

EXPORT void cumulticast_attach(const struct door_callbacks *c)
{
    callbacks = *c;
    closing = 0;
    serving = 1;
}

/* After this every call answers 4 (deinitialized): the interpreter is going away. */
EXPORT void cumulticast_close(void) { closing = 1; }

/* A process that starts afresh (sim.stop, sim.reset) is not initialised any more. */
EXPORT void cumulticast_forget(void) { initialised = 0; }

EXPORT const char *cumulticast_version(void) { return DOOR_VERSION; }

EXPORT void *cumulticast_entry(int index)
{
    return index >= 0 && index < ENTRY_COUNT ? (void *)addresses[index] : NULL;
}
