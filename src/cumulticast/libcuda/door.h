/* What the two halves of a door share: the library (door.c, no Python in it) and the extension module _door (python.c),
 * which calls Python functions for it. There are two doors of the same make: libcuda.so.1, and libnvidia-ml.so.1 when
 * DOOR_NVML is defined. */
#ifndef CUMULTICAST_DOOR_H
#define CUMULTICAST_DOOR_H
#include <stdint.h>

#ifdef DOOR_NVML
#define DOOR_LIBRARY "libnvidia-ml.so"
#define DOOR_SERVER "cumulticast.libnvml.serve"
#define DOOR_EXPORT(name) cumulticast_nvml_##name
#define DOOR_EXPORTED "cumulticast_nvml_"
/* nvmlReturn_t; a library that is closed is one that is not initialised. */
enum { SUCCESS = 0, NOT_INITIALIZED = 1, DEINITIALIZED = 1, UNKNOWN = 999 };
#else
#define DOOR_LIBRARY "libcuda.so"
#define DOOR_SERVER "cumulticast.libcuda.serve"
#define DOOR_EXPORT(name) cumulticast_##name
#define DOOR_EXPORTED "cumulticast_"
enum { SUCCESS = 0, NOT_INITIALIZED = 3, DEINITIALIZED = 4, UNKNOWN = 999 }; /* CUresult */
#endif

#define MAX_PARAMS 16

enum direction { SCALAR, TEXT, IN, OUT, INOUT };

/* One parameter of one entry. `width` is the size in bytes of a scalar or of one output word; `size` that of one
 * element of a structure or array; `count` the index of the parameter that holds the number of elements, or -1. */
struct param { uint8_t direction, width, is_signed, optional; int8_t count; uint32_t size; };
struct entry { const char *symbol; uint8_t params; struct param param[MAX_PARAMS]; };

/* What a call asks of Python. */
enum ask {
    ASK_CALL,       /* an ordinary call */
    ASK_WATCHED,    /* a call while faults are injected, or one that waited before */
    ASK_FAULT,      /* its arguments are bad: `fault` says how */
    ASK_GIVE_UP,    /* a signal handler raised while it waited */
    ASK_NEW_THREAD, /* a thread calls for the first time */
    ASK_CLOSE       /* the program ends */
};

enum { FAULT_NONE = 0, FAULT_NULL = 1, FAULT_UNREADABLE = 2, FAULT_UNWRITABLE = 3 };
#define FAULT(kind, index) ((kind) | (index) << 8)

struct call {
    const struct entry *entry;
    int index;
    enum ask ask;
    int fault;                 /* FAULT(kind, parameter) */
    uint64_t thread;           /* the calling thread's own number */
    const uint64_t *given;     /* the arguments as they came */
    uint64_t word[MAX_PARAMS]; /* arguments; of structures and strings that are read, where their copy lies */
    uint64_t place[MAX_PARAMS]; /* of outputs, where they go; 0 when the caller does not want them */
    /* Answered with DOOR_WAIT: sleep while the 32-bit word at `wait_on` holds `wait_value`, at most `wait_ns`, then ask
     * again. */
    uint64_t wait_on, wait_value, wait_ns;
};
#define DOOR_WAIT (-1)
#define DOOR_SHAPE (sizeof(struct call) << 32 | sizeof(struct door_callbacks) << 16 | sizeof(struct entry))

struct door_callbacks {
    uint64_t shape; /* DOOR_SHAPE: both halves were built from the same description */
    /* Answer one call: a CUresult, with the outputs written when it is 0, or DOOR_WAIT. */
    int (*answer)(struct call *call);
    /* Run pending signal handlers. 0: none raised. 1: one raised; the next answer sees to it that the exception is raised
     * again as soon as the call has returned. */
    int (*signals)(void);
    /* The world's count of fault changes, and its value when there are no faults. */
    const uint32_t *faults;
    uint32_t calm;
};
#endif
