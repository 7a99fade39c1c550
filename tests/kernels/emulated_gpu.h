// Just enough of CUDA to run a kernel's source on the CPU. The threads of a block take turns. They pass their turn on
// only where the kernel lets them wait for each other. With `backwards`, the last thread of each turn goes first: a kernel
// that forgets to wait then gives another result in one of the two orders.
#include <setjmp.h>
#include <ucontext.h>

#include <cstdint>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

struct Place {
    unsigned x, y;
};
static Place threadIdx, blockIdx, blockDim, gridDim;

constexpr unsigned MOST_THREADS = 1024, STACK = 1 << 15, SHARED_BYTES = 1 << 18;
__attribute__((aligned(16))) unsigned char shared_memory[SHARED_BYTES];

static std::vector<char> stacks(std::size_t(MOST_THREADS) * STACK);
static jmp_buf scheduler, waiting[MOST_THREADS];  // Jumps, unlike contexts, do not call the operating system.
static bool started[MOST_THREADS], finished[MOST_THREADS];
static void (*body)();

static void pass_on() {
    if (!_setjmp(waiting[threadIdx.x])) _longjmp(scheduler, 1);
}

static void whole_thread() {
    body();
    finished[threadIdx.x] = true;
    _longjmp(scheduler, 1);
}

static void take_turn() {
    if (_setjmp(scheduler)) return;
    if (started[threadIdx.x]) _longjmp(waiting[threadIdx.x], 1);
    started[threadIdx.x] = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = &stacks[std::size_t(threadIdx.x) * STACK];
    context.uc_stack.ss_size = STACK;
    makecontext(&context, whole_thread, 0);
    setcontext(&context);
}

// The threads wait until `size` of them have arrived.
struct Meeting {
    unsigned arrived, rounds;
    void wait(unsigned size) {
        unsigned round = rounds;
        if (++arrived == size) {
            arrived = 0;
            ++rounds;
        }
        while (round == rounds) pass_on();
    }
};
static Meeting whole_block, warps[MOST_THREADS / 32];
static unsigned shown[MOST_THREADS];

static void __syncthreads() { whole_block.wait(blockDim.x); }

// Show a number to the other lanes of the warp, and see what they show.
template <class Result>
static unsigned among_lanes(unsigned number, Result result) {
    unsigned warp = threadIdx.x / 32;
    shown[threadIdx.x] = number;
    warps[warp].wait(32);
    unsigned found = result(shown + 32 * warp);
    warps[warp].wait(32);
    return found;
}

static unsigned __ballot_sync(unsigned, int bit) {
    return among_lanes(bit != 0, [](const unsigned *lanes) {
        unsigned found = 0;
        for (int i = 0; i < 32; ++i) found |= lanes[i] << i;
        return found;
    });
}

static unsigned __shfl_sync(unsigned, unsigned number, int lane) {
    return among_lanes(number, [lane](const unsigned *lanes) { return lanes[lane]; });
}

static unsigned __reduce_add_sync(unsigned, unsigned number) {
    return among_lanes(number, [](const unsigned *lanes) {
        unsigned found = 0;
        for (int i = 0; i < 32; ++i) found += lanes[i];
        return found;
    });
}

static unsigned __popc(unsigned word) { return __builtin_popcount(word); }

static unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return unsigned(((std::uint64_t(high) << 32) | low) >> (shift & 31));
}

static void atomicAdd(unsigned long long *sum, unsigned long long more) { *sum += more; }

// Run `kernel` in all threads of all blocks, one block after another.
static void launch(void (*kernel)(), Place grid, unsigned threads, bool backwards) {
    body = kernel, gridDim = grid, blockDim = {threads, 1};
    for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y) {
        for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) {
            for (unsigned i = 0; i < sizeof shared_memory; ++i) shared_memory[i] = 0xA5;
            for (unsigned i = 0; i < threads; ++i) started[i] = finished[i] = false;
            for (unsigned left = threads; left;) {
                for (unsigned turn = 0; turn < threads; ++turn) {
                    unsigned i = backwards ? threads - 1 - turn : turn;
                    if (finished[i]) continue;
                    threadIdx.x = i;
                    take_turn();
                    left -= finished[i];
                }
            }
        }
    }
}
