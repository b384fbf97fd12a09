/* Opens the driver by name for itself alone (RTLD_LOCAL), as many C programs do, and prints three answers. */
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) { printf("%s\n", dlerror()); return 2; }
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(library, "cuInit");
    int (*count)(int *) = (int (*)(int *))dlsym(library, "cuDeviceGetCount");
    if (!init || !count) return 3;
    int devices = -1, first = init(0), second = count(&devices);
    printf("%d %d %d\n", first, second, devices);
    return 0;
}
