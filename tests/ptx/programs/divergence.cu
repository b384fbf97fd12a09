// Lanes of a warp that part, wait for each other, and come together again.
typedef unsigned u32;
typedef unsigned long long u64;
#define ALL 0xffffffffu
#define EXPORT extern "C" __global__ void

__device__ u32 load_acquire(const u32 *p) {
    u32 v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ void store_release(u32 *p, u32 v) { asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }

EXPORT nested(int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (int a = 0; a < i % 7 + 1; a++) {
        for (int b = 0; b < 10; b++) {
            if ((a + b + i) % 3 == 0) continue;
            if (b > i % 5 + 3) break;
            for (int c = b; c; c = c & 1 ? c - 3 > 0 ? c - 3 : 0 : c / 2) {
                if (c == i % 8) goto next;
                sum += c;
            }
            sum += a * b + 1;
        next:;
        }
        if (sum > 100) {
            sum -= 50;
            continue;
        }
        sum++;
    }
    out[i] = sum;
}

EXPORT collatz(int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, count = 0;
    for (u32 x = i + 1; x != 1; count++) x = x & 1 ? 3 * x + 1 : x / 2;
    out[i] = count;
}

EXPORT switches(int *out) {
    int i = threadIdx.x, r = 0;
    for (int round = 0; round < 3; round++)
        switch ((i + round) % 11) {
        case 0: r += i * 2; break;
        case 1: r -= 7; // falls through
        case 2: r *= 3; break;
        case 3: continue;
        case 4: r = ~r; break;
        case 5: r = r << 3; // falls through
        case 6: r ^= 0x55;  // falls through
        case 7: r += i % 5; break;
        case 8: out[i] = r - 1; return;
        default: r -= i;
        }
    out[i] = r;
}

// Each lane leaves at a time of its own; those who stay count themselves.
EXPORT leaving(u32 *out) {
    int lane = threadIdx.x % 32;
    u32 seen = 0;
#pragma unroll 1
    for (int round = 0;; round++) {
        if (round == (lane * 7) % 32) {
            out[threadIdx.x] = seen;
            return;
        }
        seen += __popc(__activemask());
    }
}

// ---- lanes wait for each other

EXPORT lane_waits_for_lane(u32 *flag, u32 *out) {
    int lane = threadIdx.x;
    if (lane == 5) {
        while (load_acquire(flag) != 7) {}
        out[0] = 1;
    } else if (lane == 9) {
        out[1] = 2;
        store_release(flag, 7);
    }
    __syncwarp();
    out[2 + lane] = lane;
}

EXPORT lanes_in_turn(volatile u32 *turn, u32 *out) {
    u32 i = threadIdx.x;
    while (*turn != i) {}
    out[i] = i ? out[i - 1] + i : 0;
    __threadfence();
    *turn = i + 1;
}

EXPORT ping_pong(volatile u32 *ball, u32 *out, u32 rounds) {
    u32 me = threadIdx.x / 16;
    if (threadIdx.x % 16) return;
    for (u32 round = 0; round < rounds; round++) {
        while ((*ball & 1) != me) {}
        *ball = *ball + 1;
    }
    out[me] = *ball;
}

EXPORT spin_lock(u32 *mutex, u32 *count) {
    bool done = false;
    while (!done)
        if (atomicCAS(mutex, 0u, 1u) == 0u) {
            *count = *count + 1;
            __threadfence();
            atomicExch(mutex, 0u);
            done = true;
        }
}

EXPORT spin_lock_outside(u32 *mutex, volatile u32 *count) {
    while (atomicCAS(mutex, 0u, 1u)) __nanosleep(20);
    *count = *count + 1;
    __threadfence();
    atomicExch(mutex, 0u);
}

// The way round the loop does not show in the values: a function's answer comes through memory.
__device__ __noinline__ bool try_lock(u32 *mutex) { return atomicCAS(mutex, 0u, 1u) == 0u; }
__device__ __noinline__ void unlock(u32 *mutex) {
    __threadfence();
    atomicExch(mutex, 0u);
}
EXPORT spin_lock_in_functions(u32 *mutex, volatile u32 *count) {
    while (!try_lock(mutex)) {}
    *count = *count + 1;
    unlock(mutex);
}

EXPORT ticket_lock(u32 *next, volatile u32 *serving, volatile u32 *order) {
    u32 mine = atomicAdd(next, 1u);
    while (*serving != mine) {}
    order[mine] = blockIdx.x * blockDim.x + threadIdx.x;
    __threadfence();
    *serving = mine + 1;
}

// ---- blocks wait for blocks

EXPORT blocks_in_reverse(u32 *flags, u32 *out) {
    u32 b = blockIdx.x;
    if (threadIdx.x == 0) {
        if (b + 1 < gridDim.x)
            while (load_acquire(flags + b + 1) == 0) {}
        out[b] = b + 1 < gridDim.x ? out[b + 1] + 1 : 0;
        store_release(flags + b, 1);
    }
}

// Waits in a way that no analysis of the loop's exit sees: it counts rounds, and writes to memory in each.
EXPORT unseen_wait(u32 *flag, u32 *room, u32 *out) {
    if (blockIdx.x == gridDim.x - 1) {
        store_release(flag, 1);
        return;
    }
    u32 *mine = room + blockIdx.x * 2;
    mine[0] = 1;
    for (u32 rounds = 0; mine[rounds % 2 * 0] < 2; rounds++) mine[load_acquire(flag) ? 0 : 1] = 2 + rounds * 0;
    if (threadIdx.x == 0) out[blockIdx.x] = mine[0];
}

EXPORT grid_barrier_by_hand(u32 *counter, u32 *data, u32 *out) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    for (u32 round = 1; round <= 3; round++) {
        data[i] = i * round;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(counter, 1u);
            while (load_acquire(counter) < 2 * gridDim.x * round - gridDim.x) {}
        }
        __syncthreads();
        out[i] = data[n - 1 - i];
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(counter, 1u);
            while (load_acquire(counter) < 2 * gridDim.x * round) {}
        }
        __syncthreads();
    }
}

// ---- masks

EXPORT partial_masks(u32 *out) {
    u32 lane = threadIdx.x;
    u32 low = lane < 12 ? 0xfffu : 0xfffff000u;
    __shared__ volatile u32 room[32];
    if (lane < 12) {
        room[lane] = lane * 3;
        __syncwarp(low);
        out[lane] = room[11 - lane] + __shfl_xor_sync(low, lane, 1);
    } else {
        for (u32 round = 0; round < 4; round++) {
            room[lane] = lane + round;
            __syncwarp(low);
            out[lane] = room[43 - lane] + __ballot_sync(low, lane & 1);
            __syncwarp(low);
        }
    }
}

EXPORT sync_in_both_arms(volatile u32 *room, u32 *out) {
    u32 lane = threadIdx.x;
    for (u32 round = 0; round < 5; round++) {
        room[lane] = lane + round;
        if (lane * 5 % 7 < 3) {
            __syncwarp();
            out[lane] = room[31 - lane];
        } else {
            __syncwarp();
            out[lane] = room[31 - lane] + 100;
        }
        __syncwarp();
    }
}

// Two groups of lanes pass the same instruction; the first goes on while the second waits for its last lane, and that
// lane waits for what the first group does then.
EXPORT groups_at_one_instruction(u32 *flag, u32 *out) {
    u32 lane = threadIdx.x, mask = lane < 16 ? 0xffffu : 0xffff0000u;
    if (lane == 31)
        while (load_acquire(flag) == 0) {}
    u32 sum = __reduce_add_sync(mask, lane);
    if (lane == 0) store_release(flag, 1);
    out[lane] = sum;
}

EXPORT votes(u32 *out) {
    u32 i = threadIdx.x;
    out[i] = __ballot_sync(ALL, i % 3 == 0);
    out[32 + i] = __any_sync(ALL, i == 77) + 2 * __all_sync(ALL, i < 32);
    out[64 + i] = __match_any_sync(ALL, i % 4);
    out[96 + i] = __reduce_max_sync(ALL, i ^ 21);
    int same;
    out[128 + i] = __match_all_sync(ALL, 5u, &same) + same;
    if (i < 20) out[160 + i] = __activemask();
}
