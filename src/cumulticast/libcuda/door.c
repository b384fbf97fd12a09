/* libcuda.so.1: the C ABI of the CUDA driver, in front of a driver written in Python; and libnvidia-ml.so.1 likewise
 * (door.h says what differs).
 *
 * Every exported entry does the same four things: it checks the pointers it was given (a wild or null pointer is an
 * answer, not a crash), copies input structures in, hands argument words to one Python function, and copies the
 * outputs to the caller when, and only when, the answer is 0 (success). What differs between entries is data:
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
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "door.h"

#define EXPORT __attribute__((visibility("default")))
#define SMALL_INPUTS 512
#define TEXT_MAX 4096

#include DOOR_ENTRIES /* entries.inc: static const struct entry entries[]; enum { ENTRY_COUNT, ENTRY_cuInit … } */
#ifdef DOOR_NVML
#define DOOR_INIT (-1) /* a forked child may go on using it: it owns nothing */
#else
#define DOOR_INIT ENTRY_cuInit
#endif

static struct door_callbacks callbacks;
static atomic_int serving;    /* how often callbacks were put in place */
static atomic_int closing;    /* the interpreter is going away: answer 4, touch nothing */
static atomic_int initialised; /* cuInit has succeeded in this process */
static atomic_int forked;     /* this is a child of an initialised process: answer 3 */
static pthread_once_t fork_handler = PTHREAD_ONCE_INIT;

static void in_child(void) { if (initialised) forked = 1; }
static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

/* A number of its own for every thread; unlike thread ids these are not reused. */
static __thread uint64_t thread_serial;
static __thread int thread_announced; /* to which service */

static void announce_thread(void)
{
    static atomic_uint_fast64_t last;
    if (!thread_serial) thread_serial = ++last;
    thread_announced = serving;
    struct call c = { .ask = ASK_NEW_THREAD, .thread = thread_serial };
    callbacks.answer(&c);
}

/* ---- foreign pointers -------------------------------------------------------------------------------------- */

/* Whether the range lies in the calling thread's stack above this frame: most arguments do, and need no system call. */
static bool on_stack(uintptr_t at, size_t size)
{
    static __thread uintptr_t top;
    if (!top) {
        pthread_attr_t attributes;
        void *lowest;
        size_t length;
        top = 1;
        if (!pthread_getattr_np(pthread_self(), &attributes)) {
            if (!pthread_attr_getstack(&attributes, &lowest, &length)) top = (uintptr_t)lowest + length;
            pthread_attr_destroy(&attributes);
        }
    }
    return at > (uintptr_t)__builtin_frame_address(0) && at < top && size <= top - at;
}

/* Whether the four aligned bytes around `at` can be written. The kernel ORs zero into them: nothing changes, and a
 * bad address is EFAULT instead of a signal. A kernel that forbids the call is taken to say yes. */
static bool word_writable(uintptr_t at)
{
    uint32_t *word = (uint32_t *)(at & ~(uintptr_t)3);
    long r = syscall(SYS_futex, word, FUTEX_WAKE_OP_PRIVATE, 0, 0UL, word,
                     FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, -1));
    return r >= 0 || errno != EFAULT;
}

/* Likewise for reading: the kernel compares the word and does not sleep, since no time is given. */
static bool word_readable(uintptr_t at)
{
    static const struct timespec none;
    uint32_t *word = (uint32_t *)(at & ~(uintptr_t)3);
    return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &none, NULL, 0) == 0 || errno != EFAULT;
}

/* Whether every page of a range passes a probe. */
static bool every_page(uintptr_t at, size_t size, bool (*probe)(uintptr_t))
{
    static long page;
    if (!page) page = sysconf(_SC_PAGESIZE);
    if (!at || at + size < at) return false;
    if (!size || on_stack(at, size)) return true;
    for (uintptr_t p = at; p < at + size; p = (p | (uintptr_t)(page - 1)) + 1)
        if (!probe(p)) return false;
    return true;
}

/* ---- one call ---------------------------------------------------------------------------------------------- */

struct large { struct large *next; max_align_t data[]; };

struct frame {
    struct call call;
    struct large *large; /* what is too large for `small` */
    size_t used;
    char small[SMALL_INPUTS];
};

static uint64_t extend(uint64_t value, const struct param *p)
{
    unsigned shift = 64 - 8u * p->width;
    if (!shift || !p->width) return value;
    return p->is_signed ? (uint64_t)((int64_t)(value << shift) >> shift) : value << shift >> shift;
}

static uint64_t count_of(const struct frame *f, const struct param *p)
{
    return p->count < 0 ? 1 : f->call.word[p->count];
}

/* Room for an input that is too large for the frame; NULL: the host has no memory. */
static char *make_room(struct frame *f, size_t size)
{
    struct large *made = malloc(sizeof *made + size);
    if (!made) return NULL;
    made->next = f->large;
    f->large = made;
    return (char *)made->data;
}

static void give_room_back(struct frame *f)
{
    while (f->large) {
        struct large *next = f->large->next;
        free(f->large);
        f->large = next;
    }
}

/* Copy one input structure or array into the frame, so that nobody can change or unmap it while it is read. */
static int take_input(struct frame *f, const struct param *p, int k)
{
    uint64_t *word = &f->call.word[k], count = count_of(f, p);
    if (!*word) return p->optional || !count ? FAULT_NONE : FAULT(FAULT_NULL, k);
    if (count > (1u << 24) / p->size) return FAULT(FAULT_UNREADABLE, k);
    size_t size = count * p->size;
    if (!every_page(*word, size, word_readable)) return FAULT(FAULT_UNREADABLE, k);
    char *place = f->small + f->used;
    if (f->used + size > SMALL_INPUTS) {
        if (!(place = make_room(f, size))) return FAULT(FAULT_UNREADABLE, k);
    } else f->used = (f->used + size + 15) & ~(size_t)15;
    memcpy(place, (void *)*word, size);
    *word = (uintptr_t)place;
    return FAULT_NONE;
}

/* Copy a C string in, piece by piece: it may end right before an unmapped page. */
static int take_text(struct frame *f, const struct param *p, int k)
{
    uintptr_t from = f->call.word[k];
    if (!from) return p->optional ? FAULT_NONE : FAULT(FAULT_NULL, k);
    char *text = make_room(f, TEXT_MAX + 256);
    if (!text) return FAULT(FAULT_UNREADABLE, k);
    for (size_t have = 0; have < TEXT_MAX;) {
        size_t piece = 256 - ((from + have) & 255); /* never crosses a page: pages are multiples of 256 bytes */
        if (!every_page(from + have, piece, word_readable)) return FAULT(FAULT_UNREADABLE, k);
        memcpy(text + have, (void *)(from + have), piece);
        if (memchr(text + have, 0, piece)) { f->call.word[k] = (uintptr_t)text; return FAULT_NONE; }
        have += piece;
    }
    return FAULT(FAULT_UNREADABLE, k);
}

static int check_output(struct frame *f, const struct param *p, int k, uint64_t address)
{
    if (!address) return p->optional || !count_of(f, p) ? FAULT_NONE : FAULT(FAULT_NULL, k);
    size_t size = p->width;
    if (p->size) {
        uint64_t count = count_of(f, p), most = (1u << 24) / p->size;
        size = (count > most ? most : count) * p->size; /* of an enormous capacity the head will do */
    }
    if (!every_page(address, size, word_writable)) return FAULT(FAULT_UNWRITABLE, k);
    f->call.place[k] = address;
    if (p->direction == INOUT && !p->size) memcpy(&f->call.word[k], (void *)address, p->width);
    return FAULT_NONE;
}

static int take_arguments(struct frame *f, const struct entry *e, const uint64_t *args)
{
    int fault = FAULT_NONE, n = e->params;
    for (int k = 0; k < n; k++) {
        f->call.word[k] = e->param[k].direction == SCALAR ? extend(args[k], &e->param[k]) : args[k];
        f->call.place[k] = 0;
    }
    /* In-out words first: an array's capacity may stand in one. */
    for (int k = 0; k < n && !fault; k++)
        if (e->param[k].direction == INOUT && !e->param[k].size) {
            f->call.word[k] = 0;
            fault = check_output(f, &e->param[k], k, args[k]);
        }
    for (int k = 0; k < n && !fault; k++) {
        const struct param *p = &e->param[k];
        if (p->direction == TEXT) fault = take_text(f, p, k);
        else if (p->direction == IN) fault = take_input(f, p, k);
        else if (p->direction == OUT) fault = check_output(f, p, k, args[k]);
        else if (p->direction == INOUT && p->size) {
            fault = check_output(f, p, k, args[k]);
            if (!fault) fault = take_input(f, p, k);
        }
    }
    return fault;
}

/* Sleep until the word changes, a signal comes or the time is over. Python handed the word out; it stays mapped. */
static int wait_for_change(const struct call *c)
{
    struct timespec limit = { (time_t)(c->wait_ns / 1000000000u), (long)(c->wait_ns % 1000000000u) };
    if (syscall(SYS_futex, (uint32_t *)c->wait_on, FUTEX_WAIT, (uint32_t)c->wait_value, &limit, NULL, 0) == 0) return 0;
    return errno == EINTR ? EINTR : 0;
}

/* Ask until there is an answer that is not to wait. */
static int ask(struct call *c)
{
    for (;;) {
        int status = callbacks.answer(c);
        if (status != DOOR_WAIT) return status;
        c->ask = ASK_WATCHED;
        if (wait_for_change(c) != EINTR) continue;
        if (!callbacks.signals()) continue;
        c->ask = ASK_GIVE_UP;
        return callbacks.answer(c);
    }
}

static int start(void);

static int enter(int index, const uint64_t *args)
{
    const struct entry *e = &entries[index];
    if (closing) return DEINITIALIZED;
    if (forked) return NOT_INITIALIZED;
    if (!serving && start()) return UNKNOWN;
    if (thread_announced != serving) announce_thread();
    struct frame f;
    f.large = NULL;
    f.used = 0;
    f.call.entry = e;
    f.call.index = index;
    f.call.thread = thread_serial;
    f.call.given = args;
    f.call.fault = take_arguments(&f, e, args);
    const uint32_t *faults = callbacks.faults;
    bool watched = faults && __atomic_load_n(faults, __ATOMIC_RELAXED) != callbacks.calm;
    f.call.ask = f.call.fault ? ASK_FAULT : watched ? ASK_WATCHED : ASK_CALL;
    int status = ask(&f.call);
    if (status == SUCCESS && index == DOOR_INIT && !initialised) {
        pthread_once(&fork_handler, watch_forks);
        initialised = 1;
    }
    give_room_back(&f);
    return status;
}

/* ---- starting ---------------------------------------------------------------------------------------------- */

#define SAY(...) fprintf(stderr, "cumulticast " DOOR_LIBRARY ".1: " __VA_ARGS__)
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

/* Where the package lies: this file is such as <site>/cumulticast/libcuda/libcuda.so.1, perhaps reached by a link. */
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

/* Run the server (such as cumulticast.libcuda.serve) in an interpreter that runs, with its lock held. The package's own directory is put
 * at the end of sys.path for the time, so that programs of another environment find it too. */
static int import_server(void *python)
{
    char site[PATH_MAX + 1], code[PATH_MAX * 2 + 2000];
    PYTHON(PyRun_SimpleString);
    if (!p_PyRun_SimpleString || !site_directory(site)) return -1;
    snprintf(code, sizeof code,
             "def _start(site):\n"
             "    import os, sys\n"
             "    extra = [site, *filter(None, os.environ.get('CUMULTICAST_SITE', '').split(os.pathsep))]\n"
             "    extra = [p for p in extra if p not in sys.path]\n"
             "    sys.path.extend(extra)\n"
             "    sys.path.insert(0, site)\n" /* this library's own package, not another copy of it */
             "    try:\n"
             "        struck = None\n" /* what a signal handler raised meanwhile: it must not end the start */
             "        for left in reversed(range(50)):\n"
             "            try:\n"
             "                import " DOOR_SERVER " as serve\n"
             "                serve.start_from_host()\n"
             "                break\n"
             "            except BaseException as error:\n"
             "                if not left or not _by_signal(error): raise\n"
             "                struck = error\n"
             "        if struck is not None: serve.lib.redeliver(id(struck))\n"
             "    finally:\n"
             "        sys.path.remove(site)\n"
             "        for p in extra: sys.path.remove(p)\n"
             "def _by_signal(error):\n"
             "    import signal\n"
             "    codes = [getattr(signal.getsignal(n), '__code__', error) for n in signal.valid_signals()]\n"
             "    trace = error.__traceback__\n"
             "    while trace and trace.tb_frame.f_code not in codes: trace = trace.tb_next\n"
             "    return bool(trace) or isinstance(error, KeyboardInterrupt)\n"
             "_start('%s')\n"
             "del _start, _by_signal\n", site);
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
    struct call c = { .ask = ASK_CLOSE };
    if (serving && !closing && !forked) callbacks.answer(&c);
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

/* 0, or -1 when the halves were not built together: then nothing is put in place, and calls answer 999. */
EXPORT int DOOR_EXPORT(attach)(const struct door_callbacks *c)
{
    if (c->shape != DOOR_SHAPE) return -1;
    callbacks = *c;
    closing = 0;
    serving++;
    return 0;
}

/* After this every call answers 4 (deinitialized): the interpreter is going away. */
EXPORT void DOOR_EXPORT(close)(void) { closing = 1; }

/* A process whose machine was stopped is not initialised any more, and the words of that machine are not looked at. */
EXPORT void DOOR_EXPORT(forget)(void)
{
    initialised = 0;
    callbacks.faults = NULL;
}

EXPORT const char *DOOR_EXPORT(version)(void) { return DOOR_VERSION; }

EXPORT void *DOOR_EXPORT(entry)(int index)
{
    return index >= 0 && index < ENTRY_COUNT ? (void *)addresses[index] : NULL;
}
