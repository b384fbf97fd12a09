/* Tensors that others make of an array by DLPack, and how many of them are alive.
 *
 * build_dlpack.py hands everything below the line "// cffi" to cffi, so it holds plain declarations only. Structures and
 * their order are those of DLPack's dlpack.h 1.1 (github.com/dmlc/dlpack, Apache-2.0). */
#ifndef CUMULTICAST_DLPACK_H
#define CUMULTICAST_DLPACK_H
#include <stdint.h>
// cffi
struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides in elements */
    uint64_t byte_offset;
};
struct dl_managed { /* DLManagedTensor: before 1.0 */
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *);
};
struct dl_managed_versioned { /* DLManagedTensorVersioned */
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_managed_versioned *);
    uint64_t flags;
    struct dl_tensor tensor;
};

struct exports; /* those of one array */
struct exports *exports_begin(void);
void exports_end(struct exports *exports); /* tensors that are alive keep it */
int exports_alive(const struct exports *exports);
/* Answers a struct dl_managed, or a struct dl_managed_versioned of that version if major is not 0; or NULL, when there is
 * no memory. `like` says all but the shape and the strides, of which it points to ndim each; they are copied. */
void *exports_add(struct exports *exports, const struct dl_tensor *like, uint32_t major, uint32_t minor);
/* The name of such a capsule, and its destructor: it deletes a tensor that nobody took. */
const char *capsule_name(uint32_t major);
uintptr_t capsule_destructor(void);
// end
#endif
