#include "runtime.h"

const char *ptx_runtime_version(void) {
    return "1";
}
