// Each rank takes a part of the array, reduces it over all replicas in one load, and writes it to all in one store.
// `replicas` is a multicast address; n is the number of floats, a multiple of 4 * ranks.
extern "C" __global__ void all_reduce(float *replicas, int n, int rank, int ranks) {
    int part = n / ranks;
    float *mine = replicas + rank * part;
    for (int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4; i < part; i += gridDim.x * blockDim.x * 4) {
        float x, y, z, w;
        asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "l"(mine + i) : "memory");
        asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};"
                     :: "l"(mine + i), "f"(x), "f"(y), "f"(z), "f"(w) : "memory");
    }
}
