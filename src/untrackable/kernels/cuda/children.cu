// The search among hashed prefixes: which children have a large enough entry in their bucket?

typedef unsigned long long Word;

// The output function of SplitMix64, as in `mechanisms.splitmix`.
static __device__ __forceinline__ Word mixed(Word word) {
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9ull;
    word = (word ^ word >> 27) * 0x94D049BB133111EBull;
    return word ^ word >> 31;
}

// Child i·steps + j of the states is mixed(states[i] + more[j]). It strikes if its entry is at least limits[i].
extern "C" __global__ void mark_striking(const Word *states, const Word *more, long long children, long long steps,
                                         const short *table, const long long *limits, Word key, int shift, bool *strikes) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long child = (long long)blockIdx.x * blockDim.x + threadIdx.x; child < children; child += step) {
        long long parent = child / steps;
        Word bucket = mixed(mixed(states[parent] + more[child - parent * steps]) ^ key) >> shift;
        strikes[child] = table[bucket] >= limits[parent];
    }
}
