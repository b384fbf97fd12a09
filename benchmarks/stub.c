/* An empty libcuda: what a trivial call costs without any driver behind it. */
#include <stdint.h>
#include <string.h>
int cuInit(unsigned flags) { (void)flags; return 0; }
int cuDeviceGetCount(int *count) { *count = 8; return 0; }
int cuGetProcAddress_v2(const char *name, void **address, int version, uint64_t flags, int *status)
{
    (void)version, (void)flags, (void)status;
    *address = !strcmp(name, "cuInit") ? (void *)cuInit : !strcmp(name, "cuDeviceGetCount") ? (void *)cuDeviceGetCount : 0;
    return 0;
}
