// Programs on integers and bytes whose every output bit is fixed: hashes, wide arithmetic, searches, text.
typedef unsigned char u8;
typedef unsigned u32;
typedef unsigned long long u64;
#define EXPORT extern "C" __global__ void

__constant__ u32 ROUNDS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ u32 turn(u32 x, int by) { return __funnelshift_r(x, x, by); }

__device__ void compress(u32 state[8], const u32 block[16]) {
    u32 w[64], s[8];
    for (int i = 0; i < 16; i++) w[i] = block[i];
#pragma unroll 4
    for (int i = 16; i < 64; i++) {
        u32 a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    for (int i = 0; i < 8; i++) s[i] = state[i];
#pragma unroll 1
    for (int i = 0; i < 64; i++) {
        u32 x = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + ROUNDS[i] + w[i];
        u32 y = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (int j = 7; j; j--) s[j] = s[j - 1];
        s[4] += x;
        s[0] = x + y;
    }
    for (int i = 0; i < 8; i++) state[i] += s[i];
}

// SHA-256 of a message per thread, of `length` + thread bytes, `stride` apart.
EXPORT sha256(const u8 *text, u32 *out, int stride, int length) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, bytes = length + t;
    u32 state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (int at = 0; at < bytes + 9; at += 64) {
        u32 block[16];
#pragma unroll 1
        for (int word = 0; word < 16; word++) {
            block[word] = 0;
            for (int i = 0; i < 4; i++) {
                int place = at + word * 4 + i;
                u32 byte = place < bytes ? text[t * stride + place] : place == bytes ? 0x80 : 0;
                block[word] |= byte << (24 - 8 * i);
            }
        }
        if (at + 64 >= bytes + 9) block[15] = bytes * 8;
        compress(state, block);
    }
    for (int i = 0; i < 8; i++) out[t * 8 + i] = state[i];
}

__device__ u32 crc_table[256];
EXPORT crc32(const u8 *text, u32 *out, int each) {
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        u32 r = i;
        for (int bit = 0; bit < 8; bit++) r = r & 1 ? r >> 1 ^ 0xedb88320 : r >> 1;
        crc_table[i] = r;
    }
    __syncthreads();
    u32 r = ~0u;
    for (int i = 0; i < each; i++) r = crc_table[(r ^ text[threadIdx.x * each + i]) & 255] ^ r >> 8;
    out[threadIdx.x] = ~r;
}

// xorshift*, PCG and SplitMix, then the bits of what they give.
EXPORT random_streams(const u64 *seeds, u64 *out, int rounds) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    u64 x = seeds[t] | 1, pcg = seeds[t], split = seeds[t], sum = 0;
    for (int i = 0; i < rounds; i++) {
        x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
        pcg = pcg * 6364136223846793005ull + (2 * t + 1);
        u32 folded = (u32)((pcg >> 18 ^ pcg) >> 27);
        split += 0x9e3779b97f4a7c15ull;
        u64 z = (split ^ split >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        sum = sum * 31 + x * 0x2545f4914f6cdd1dull + turn(folded, pcg >> 59) + (z ^ z >> 31);
        sum += __popcll(z) + __clzll(x) * 100 + __ffs(folded) * 10000 + (__brev(folded) ^ __byte_perm(folded, (u32)x, 0x3715));
    }
    out[t] = sum;
}

// Division, remainder and shifts of every width and sign; the divisor is never zero, and -2^63 / -1 does not come.
EXPORT divisions(const long long *a, const long long *b, long long *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    long long x = a[t], y = b[t] == 0 || b[t] == -1 ? 7 : b[t];
    int x32 = (int)x, y32 = (int)y == 0 || (int)y == -1 ? 11 : (int)y;
    short x16 = (short)x, y16 = (short)y == 0 ? 13 : (short)y;
    signed char x8 = (signed char)x, y8 = (signed char)y == 0 ? 3 : (signed char)y;
    long long *to = out + 12 * t;
    to[0] = x / y, to[1] = x % y, to[2] = (u64)x / (u64)y, to[3] = (u64)x % (u64)y;
    to[4] = x32 / y32, to[5] = x32 % y32, to[6] = (u32)x32 / (u32)y32, to[7] = (u32)x32 % (u32)y32;
    to[8] = x16 / y16 * 1000 + x16 % y16, to[9] = x8 / y8 * 1000 + x8 % y8;
    to[10] = (x >> (y & 63)) ^ ((u64)x >> (x32 & 63)) ^ (x << (y32 & 63));
    to[11] = __mul64hi(x, y) ^ __umul64hi(x, y) ^ ((long long)__mulhi(x32, y32) << 32 | __umulhi(x32, y32));
}

// Montgomery's modular powers: 128-bit products, carries.
EXPORT modular_powers(const u64 *a, u64 *out, u64 modulus, u64 power) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned __int128 result = 1, base = a[t] % modulus;
    for (u64 e = power; e; e >>= 1) {
        if (e & 1) result = result * base % modulus;
        base = base * base % modulus;
    }
    u64 inverse = modulus;
    for (int i = 0; i < 6; i++) inverse *= 2 - modulus * inverse;
    u64 low = a[t] * a[t ^ 1], high = __umul64hi(a[t], a[t ^ 1]), m = low * (0 - inverse);
    unsigned __int128 wide = (unsigned __int128)m * modulus, sum = wide + low;
    out[2 * t] = (u64)result;
    out[2 * t + 1] = (u64)(sum >> 64) + high;
}

// Numbers of 256 bits: products by rows of mad with carries.
EXPORT wide_products(const u32 *a, const u32 *b, u32 *out) {
    int t = threadIdx.x;
    u32 sum[16] = {};
    for (int i = 0; i < 8; i++) {
        u64 carry = 0;
        for (int j = 0; j < 8; j++) {
            carry += (u64)a[t * 8 + i] * b[t * 8 + j] + sum[i + j];
            sum[i + j] = (u32)carry, carry >>= 32;
        }
        sum[i + 8] = (u32)carry;
    }
    asm("add.cc.u32 %0, %0, %2; addc.cc.u32 %1, %1, %3; addc.u32 %2, %2, 0;" : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]) : "r"(sum[15]));
    asm("sub.cc.u32 %0, %0, %2; subc.cc.u32 %1, %1, %3; subc.u32 %2, %2, 5;" : "+r"(sum[3]), "+r"(sum[4]), "+r"(sum[5]) : "r"(sum[9]));
    for (int i = 0; i < 16; i++) out[t * 16 + i] = sum[i];
}

// Four and two numbers in a word, dot products.
EXPORT packed(const u32 *a, const u32 *b, u32 *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    u32 x = a[t], y = b[t], *to = out + 12 * t;
    to[0] = __vadd4(x, y), to[1] = __vsubss2(x, y), to[2] = __vmaxs4(x, y), to[3] = __vabsdiffu4(x, y);
    to[4] = __vcmpgtu2(x, y), to[5] = __vsadu4(x, y), to[6] = __dp4a((int)x, (int)y, (int)t), to[7] = __dp4a(x, y, (u32)t);
    to[8] = __dp2a_lo((int)x, (int)y, 5), to[9] = __sad((int)x, (int)y, t), to[10] = __vavgu4(x, y), to[11] = __vaddus4(x, y);
}

// ---- searches

__device__ __noinline__ u32 place(u32 all, u32 columns, u32 left, u32 right) {
    if (columns == all) return 1;
    u32 found = 0;
    for (u32 free = all & ~(columns | left | right); free; free &= free - 1) {
        u32 here = free & (0u - free);
        found += place(all, columns | here, (left | here) << 1, (right | here) >> 1);
    }
    return found;
}
EXPORT queens(u32 *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    u32 all = (1u << n) - 1, first = 1u << t % n, second = 1u << t / n % n;
    u32 columns = first, left = first << 1, right = first >> 1; // the queens of two rows are given
    if ((columns | left | right) & second) {
        out[t] = 0;
        return;
    }
    out[t] = place(all, columns | second, (left | second) << 1, (right | second) >> 1);
}

EXPORT collatz_records(u64 *out, u32 each) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, longest = 0;
    u64 highest = 0, at = 0;
    for (u32 start = t * each + 1; start <= (t + 1) * each; start++) {
        u32 steps = 0;
        for (u64 x = start; x != 1; steps++) {
            x = x & 1 ? 3 * x + 1 : x >> 1;
            if (x > highest) highest = x;
        }
        if (steps > longest) longest = steps, at = start;
    }
    out[2 * t] = highest;
    out[2 * t + 1] = at << 32 | longest;
}

// ---- text

// Bytes → base64 → bytes again; digits that a number has; a checksum of words told apart by spaces.
__device__ char digit(u32 v) { return v < 26 ? 'A' + v : v < 52 ? 'a' + v - 26 : v < 62 ? '0' + v - 52 : v == 62 ? '+' : '/'; }
__device__ int value(char c) {
    switch (c) {
    case '+': return 62;
    case '/': return 63;
    default: return c >= 'a' ? c - 'a' + 26 : c >= 'A' ? c - 'A' : c - '0' + 52;
    }
}
EXPORT base64(const u8 *text, char *coded, u8 *back) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    u32 three = text[3 * t] << 16 | text[3 * t + 1] << 8 | text[3 * t + 2], again = 0;
    for (int i = 0; i < 4; i++) coded[4 * t + i] = digit(three >> (18 - 6 * i) & 63);
    for (int i = 0; i < 4; i++) again = again << 6 | value(coded[4 * t + i]);
    for (int i = 0; i < 3; i++) back[3 * t + i] = again >> (16 - 8 * i);
}

EXPORT decimal(const int *a, char *out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, at = 0;
    char room[12];
    u32 left = a[t] < 0 ? 0u - a[t] : a[t];
    do room[at++] = '0' + left % 10; while (left /= 10);
    if (a[t] < 0) room[at++] = '-';
    for (int i = 0; i < 12; i++) out[12 * t + i] = i < at ? room[at - 1 - i] : ' ';
}

// Each thread packs its bytes by runs (count, byte), and unpacks them: lengths depend on the data.
EXPORT runs(const u8 *text, u8 *packed, u8 *back, int *sizes, int each) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, size = 0, at = 0;
    const u8 *from = text + t * each;
    u8 *to = packed + 2 * t * each;
    for (int i = 0; i < each;) {
        int run = 1;
        while (i + run < each && from[i + run] == from[i] && run < 255) run++;
        to[size++] = run, to[size++] = from[i];
        i += run;
    }
    for (int i = 0; i < size; i += 2)
        for (int j = 0; j < to[i]; j++) back[t * each + at++] = to[i + 1];
    sizes[t] = size;
}

// Distances between strings (Levenshtein), a row in local memory.
EXPORT distances(const u8 *text, int *out, int length) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    const u8 *a = text, *b = text + t * length;
    short row[41];
    for (int j = 0; j <= length; j++) row[j] = j;
    for (int i = 0; i < length; i++) {
        short diagonal = row[0];
        row[0] = i + 1;
        for (int j = 0; j < length; j++) {
            short cost = diagonal + ((a[i] & 3) != (b[j] & 3));
            diagonal = row[j + 1];
            short least = row[j] < diagonal ? row[j] : diagonal;
            row[j + 1] = cost < least + 1 ? cost : least + 1;
        }
    }
    out[t] = row[length];
}

// Conway's game on a torus of bits, 32 cells a word, a block, in shared memory.
EXPORT life(u32 *cells, int rounds) {
    __shared__ u32 room[2][64];
    int t = threadIdx.x;
    room[0][t] = cells[t];
    for (int round = 0; round < rounds; round++) {
        __syncthreads();
        u32 ones = 0, twos = 0, fours = 0;
        for (int row = -1; row <= 1; row++) {
            u32 w = room[round & 1][(t + row + 64) % 64];
            for (int side = -1; side <= 1; side++) {
                if (row == 0 && side == 0) continue;
                u32 x = side < 0 ? w << 1 | w >> 31 : side > 0 ? w >> 1 | w << 31 : w;
                u32 carry = ones & x;
                ones ^= x;
                fours |= twos & carry, twos ^= carry;
            }
        }
        room[~round & 1][t] = twos & ~fours & (ones | room[round & 1][t]);
    }
    cells[t] = room[rounds & 1][t];
}
