/* A C program that asks NVML alone: no CUDA, no Python of its own. */
#include <nvml.h>
#include <stdio.h>

int main(void)
{
    unsigned count = 0;
    nvmlDevice_t device;
    char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
    nvmlGpuFabricInfoV_t fabric = { .version = nvmlGpuFabricInfo_v3 };
    nvmlReturn_t early = nvmlDeviceGetCount(&count), status = nvmlInit();
    if (status) { printf("%s\n", nvmlErrorString(status)); return 1; }
    nvmlDeviceGetCount(&count);
    nvmlDeviceGetHandleByIndex(count - 1, &device);
    nvmlDeviceGetName(device, name, sizeof name);
    status = nvmlDeviceGetGpuFabricInfoV(device, &fabric);
    printf("%s, %u x %s, fabric %d %d\n", nvmlErrorString(early), count, name, status, fabric.state);
    return nvmlShutdown();
}
