// Signed counts of reports.

typedef unsigned long long Word;

// Add (-1)^b to sums[v] for every report 2·v + b. All of them must be possible. Words wrap around, so -1 is added as 2^64 - 1.
extern "C" __global__ void add_signs(const Word *reports, long long count, Word *sums) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        atomicAdd(&sums[reports[i] >> 1], 1 - 2 * (reports[i] & 1));
    }
}
