// Functions that call themselves and each other, pointers to functions, objects with virtual functions.
typedef unsigned u32;
typedef unsigned long long u64;
#define EXPORT extern "C" __global__ void
#define APART __device__ __noinline__

APART int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
APART int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
APART bool is_odd(u32 n);
APART bool is_even(u32 n) { return n == 0 || is_odd(n - 1); }
APART bool is_odd(u32 n) { return n != 0 && is_even(n - 1); }

EXPORT recursion(int *out) {
    int i = threadIdx.x;
    out[3 * i] = fibonacci(i % 13);
    out[3 * i + 1] = ackermann(i % 3, i % 5);
    out[3 * i + 2] = is_even(i);
}

// Quicksort: pointers to locals go down, and each level has an array of its own.
struct Range {
    int *first, *last;
};
APART void split(Range r, Range *low, Range *high) {
    int pivot = r.first[(r.last - r.first) / 2];
    int *i = r.first, *j = r.last;
    while (i <= j) {
        while (*i < pivot) i++;
        while (*j > pivot) j--;
        if (i <= j) {
            int t = *i;
            *i++ = *j;
            *j-- = t;
        }
    }
    low->first = r.first, low->last = j;
    high->first = i, high->last = r.last;
}
APART int quicksort(Range r, int depth) {
    if (r.last <= r.first) return depth;
    Range parts[2];
    split(r, &parts[0], &parts[1]);
    int deep[2];
    for (int side = 0; side < 2; side++) deep[side] = quicksort(parts[side], depth + 1);
    return deep[0] > deep[1] ? deep[0] : deep[1];
}
EXPORT sort_each(const int *a, int *out, int n, int *depth) {
    int room[40];
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < n; i++) room[i] = a[t * n + i];
    depth[t] = quicksort(Range{room, room + n - 1}, 0);
    for (int i = 0; i < n; i++) out[t * n + i] = room[i];
}

// ---- pointers to functions of more than one type

typedef int (*Unary)(int);
typedef double (*Mixed)(double, const int *, char);
APART int triple(int x) { return x * 3; }
APART int plus_seven(int x) { return x + 7; }
APART int down(int x) { return x <= 0 ? 0 : 1 + down(x - 2); }
APART double scale(double x, const int *p, char c) { return x * *p + c; }
APART double shift(double x, const int *p, char c) { return x + *p - c; }
__device__ Unary unary[3] = {triple, plus_seven, down};
__device__ Mixed mixed[2] = {scale, shift};

EXPORT pointers(int *out, double *wide, const int *p) {
    int i = threadIdx.x;
    out[i] = unary[i % 3](i);
    wide[i] = mixed[i & 1](i * 0.5, p + i, (char)(i - 40));
    Unary chosen = i & 4 ? triple : plus_seven;
    out[i] += chosen(1000 * i);
}

APART int apply(Unary f, int x, int times) { return times ? apply(f, f(x), times - 1) : x; }
EXPORT pointers_into_recursion(int *out) {
    int i = threadIdx.x;
    out[i] = apply(unary[i & 1], i, i % 6);
}

EXPORT wild_pointer(Unary f, int *out) { out[threadIdx.x] = f(threadIdx.x); }

// ---- virtual functions

struct Shape {
    int id;
    __device__ Shape(int id) : id(id) {}
    __device__ virtual float area() const = 0;
    __device__ virtual int corners(int more) const { return more; }
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    float side;
    __device__ Square(int id, float side) : Shape(id), side(side) {}
    __device__ float area() const override { return side * side; }
    __device__ int corners(int more) const override { return 4 + more; }
};
struct Pile : Shape {
    const Shape *under;
    __device__ Pile(int id, const Shape *under) : Shape(id), under(under) {}
    __device__ float area() const override { return 1 + (under ? under->area() : 0); }
    __device__ int corners(int more) const override { return under ? under->corners(more + id) : Shape::corners(more); }
};
APART float total(const Shape *const *shapes, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += shapes[i]->area() + 100 * shapes[i]->corners(i);
    return sum;
}
EXPORT virtual_calls(float *out) {
    int t = threadIdx.x;
    Square square(t, t);
    Pile first(2, &square), second(3, &first), empty(4, nullptr);
    const Shape *shapes[4] = {&square, &first, &second, &empty};
    const Shape *turned[4];
    for (int i = 0; i < 4; i++) turned[i] = shapes[(i + t) % 4];
    out[t] = total(turned, 1 + t % 4);
}

// ---- structures by value, results of many words, barriers and shuffles in functions

struct Big {
    int a;
    float b[5];
    u64 c;
};
APART Big change(Big s, int k) {
    s.a += k;
    s.b[k % 5] *= 2;
    s.c ^= (u64)k << 40;
    return s;
}
EXPORT structures(Big *s) { s[threadIdx.x] = change(change(s[threadIdx.x], threadIdx.x), 3); }

APART int sum_of_block(int value, int *room) {
    for (int step = 16; step; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (int i = 0; i < blockDim.x / 32; i++) value += room[i];
    __syncthreads();
    return value;
}
EXPORT barriers_in_functions(int *out) {
    __shared__ int room[32];
    int a = sum_of_block(threadIdx.x, room);
    int b = sum_of_block(a + threadIdx.x, room);
    out[threadIdx.x] = threadIdx.x % 2 ? a : b;
}

APART int deep(int n, volatile int *p) {
    volatile int room[16];
    room[n % 16] = n;
    return n == 0 ? *p : deep(n - 1, p) + room[n % 16];
}
EXPORT stack(int *out, int n, int *p) { out[threadIdx.x] = deep(n, p); }
