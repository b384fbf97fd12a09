/* A C program on the driver API: one multicast object over all devices, bound, mapped, and what it reads there. */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#define CHECK(call) do { CUresult r_ = (call); if (r_) { printf("%s -> %d\n", #call, (int)r_); return 1; } } while (0)
#define SIZE ((size_t)4 << 20)

static int bind_all(int count, CUmemGenericAllocationHandle *mc, CUmemGenericAllocationHandle *memory)
{
    CUmulticastObjectProp object = { .numDevices = (unsigned)count, .size = SIZE };
    CHECK(cuMulticastCreate(mc, &object));
    for (int dev = 0; dev < count; dev++) CHECK(cuMulticastAddDevice(*mc, dev));
    for (int dev = 0; dev < count; dev++) {
        CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev } };
        CHECK(cuMemCreate(&memory[dev], SIZE, &prop, 0));
        CHECK(cuMulticastBindMem(*mc, 0, memory[dev], 0, SIZE, 0));
    }
    return 0;
}

static int map(CUmemGenericAllocationHandle handle, CUdeviceptr *at)
{
    CUmemAccessDesc grant = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CHECK(cuMemAddressReserve(at, SIZE, 0, 0, 0));
    CHECK(cuMemMap(*at, SIZE, 0, handle, 0));
    CHECK(cuMemSetAccess(*at, SIZE, &grant, 1));
    return 0;
}

int main(void)
{
    int count = 0;
    CUmemGenericAllocationHandle mc, memory[64];
    CUdeviceptr multicast, replica;
    CUcontext context;
    const char *name = "";
    char text[] = "written by the host", back[sizeof text] = "";
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    if (bind_all(count, &mc, memory) || map(mc, &multicast) || map(memory[0], &replica)) return 1;
    CHECK(cuMemcpyHtoD(replica, text, sizeof text));
    CHECK(cuMemcpyDtoH(back, replica, sizeof back));
    CUresult wrong = cuMulticastBindMem(mc, 0, memory[0], 0, SIZE - 1, 0);
    cuGetErrorName(wrong, &name);
    printf("%d devices, read back: %s, wrong bind: %d %s\n", count, back, (int)wrong, name);
    CHECK(cuMemUnmap(multicast, SIZE));
    CHECK(cuMemAddressFree(multicast, SIZE));
    for (int dev = 0; dev < count; dev++) CHECK(cuMulticastUnbind(mc, dev, 0, SIZE));
    CHECK(cuMemRelease(mc));
    return strcmp(text, back) != 0;
}
