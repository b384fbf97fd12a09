/* See dlpack.h. No interpreter in here but for the destructor: consumers delete tensors on any thread, without its lock,
 * with an exception on its way, and after its end. So a callback into Python would not do. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "dlpack.h"

struct exports {
    atomic_int references; /* the array's own, and one for each tensor */
};

struct export {
    union {
        struct dl_managed plain;
        struct dl_managed_versioned versioned;
    };
    int64_t extents[]; /* the shape, then the strides */
};

struct exports *exports_begin(void) {
    struct exports *exports = malloc(sizeof *exports);
    if (exports) atomic_init(&exports->references, 1);
    return exports;
}

void exports_end(struct exports *exports) {
    if (atomic_fetch_sub(&exports->references, 1) == 1) free(exports);
}

int exports_alive(const struct exports *exports) { return atomic_load(&exports->references) - 1; }

static void delete_plain(struct dl_managed *managed) {
    exports_end(managed->context);
    free(managed);
}

static void delete_versioned(struct dl_managed_versioned *managed) {
    exports_end(managed->context);
    free(managed);
}

void *exports_add(struct exports *exports, const struct dl_tensor *like, uint32_t major, uint32_t minor) {
    size_t extent = (size_t)like->ndim * sizeof(int64_t);
    struct export *export = calloc(1, sizeof *export + 2 * extent);
    if (!export) return NULL;
    struct dl_tensor *tensor = major ? &export->versioned.tensor : &export->plain.tensor;
    *tensor = *like;
    tensor->shape = export->extents;
    tensor->strides = export->extents + like->ndim;
    if (extent) {
        memcpy(tensor->shape, like->shape, extent);
        memcpy(tensor->strides, like->strides, extent);
    }
    if (major) {
        export->versioned.major = major;
        export->versioned.minor = minor;
        export->versioned.context = exports;
        export->versioned.deleter = delete_versioned;
    } else {
        export->plain.context = exports;
        export->plain.deleter = delete_plain;
    }
    atomic_fetch_add(&exports->references, 1);
    return export;
}

const char *capsule_name(uint32_t major) { return major ? "dltensor_versioned" : "dltensor"; }

/* A consumer renames the capsule of a tensor that it takes. */
static void end_capsule(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, capsule_name(1)))
        delete_versioned(PyCapsule_GetPointer(capsule, capsule_name(1)));
    else if (PyCapsule_IsValid(capsule, capsule_name(0)))
        delete_plain(PyCapsule_GetPointer(capsule, capsule_name(0)));
}

uintptr_t capsule_destructor(void) { return (uintptr_t)end_capsule; }
