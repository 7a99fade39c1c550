// For each candidate u, the number of vectors v whose inner product with u is odd.
//
// Compiled with
//   LIMBS       the 64-bit words of a vector
//   GROUP_BITS  the bits of a candidate that one look-up covers
//
// Blocks of the same blockIdx.x take the same 1024 vectors, 32 for each lane of a warp, and share the candidates. Bit r of a lane's word is about its vector r. So 32
// inner products are one word: the exclusive or, over the bits that u has, of the words that hold this bit of the vectors.
// Shared memory has this word for every combination of GROUP_BITS bits, so u takes one look-up for each group of its bits.

typedef unsigned long long Word;

constexpr int LANES = 32;
constexpr int TILE = LANES * 32;
constexpr int BITS = 64 * LIMBS;
constexpr int GROUPS = (BITS + GROUP_BITS - 1) / GROUP_BITS;
constexpr int COMBINATIONS = 1 << GROUP_BITS;
constexpr int ROW_BITS = 7;  // A combination has a row of 2^ROW_BITS bytes: a word for each lane.
constexpr unsigned ALL = 0xFFFFFFFFu;

extern __shared__ __align__(16) unsigned char shared_memory[];

static __device__ __forceinline__ unsigned *row(int group, int combination) {
    return reinterpret_cast<unsigned *>(shared_memory) + (group * COMBINATIONS + combination) * LANES;
}

// Fill the tables: first the rows of single bits, from the vectors, then all others, from rows with fewer bits.
static __device__ __forceinline__ void fill_tables(const Word *vectors, long long count) {
    int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES, warps = blockDim.x / LANES;
    for (int column = warp; column < LANES; column += warps) {
        long long vector = (long long)blockIdx.x * TILE + column * 32 + lane;
        for (int limb = 0; limb < LIMBS; ++limb) {
            Word word = vector < count ? vectors[limb * count + vector] : 0;
            for (int bit = 0; bit < 64; ++bit) {
                unsigned together = __ballot_sync(ALL, word >> bit & 1);
                int place = limb * 64 + bit;
                if (lane == 0) row(place / GROUP_BITS, 1 << place % GROUP_BITS)[column] = together;
            }
        }
    }
    for (int group = warp; group < GROUPS; group += warps) row(group, 0)[lane] = 0;
    for (int bit = 1; bit < GROUP_BITS; ++bit) {
        __syncthreads();
        for (int i = warp; i < GROUPS << bit; i += warps) {
            int group = i >> bit, below = i & ((1 << bit) - 1);
            if (below) row(group, 1 << bit | below)[lane] = row(group, 1 << bit)[lane] ^ row(group, below)[lane];
        }
    }
    __syncthreads();
}

// The offset in bytes of the row for a group of a candidate's bits, from the group's first row.
static __device__ __forceinline__ unsigned row_offset(const unsigned (&halves)[2 * LIMBS], int group) {
    int from = group * GROUP_BITS - ROW_BITS, half = from / 32;
    unsigned shifted;
    if (from < 0) {
        shifted = halves[0] << -from;
    } else {
        shifted = __funnelshift_r(halves[half], half + 1 < 2 * LIMBS ? halves[half + 1] : 0u, from % 32);
    }
    return shifted & (COMBINATIONS - 1) << ROW_BITS;
}

extern "C" __global__ void __launch_bounds__(1024, 1)
add_odd_parities(const Word *vectors, long long count, const Word *candidates, long long candidate_count, Word *odd) {
    int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES, warps = blockDim.x / LANES;
    fill_tables(vectors, count);
    long long step = (long long)gridDim.y * warps * LANES;
    for (long long start = ((long long)blockIdx.y * warps + warp) * LANES; start < candidate_count; start += step) {
        bool exists = start + lane < candidate_count;
        unsigned own[2 * LIMBS];
#pragma unroll
        for (int limb = 0; limb < LIMBS; ++limb) {
            Word word = exists ? candidates[limb * candidate_count + start + lane] : 0;
            own[2 * limb] = (unsigned)word, own[2 * limb + 1] = (unsigned)(word >> 32);
        }
        unsigned counted = 0;
#pragma unroll 4
        for (int i = 0; i < LANES; ++i) {  // All lanes look at the candidate of lane i.
            unsigned halves[2 * LIMBS];
#pragma unroll
            for (int half = 0; half < 2 * LIMBS; ++half) halves[half] = __shfl_sync(ALL, own[half], i);
            unsigned parities = 0;
#pragma unroll
            for (int group = 0; group < GROUPS; ++group) {
                unsigned offset = row_offset(halves, group) | lane * (unsigned)sizeof(unsigned);
                const unsigned char *first = shared_memory + (group * COMBINATIONS << ROW_BITS);
                parities ^= *reinterpret_cast<const unsigned *>(first + offset);
            }
            unsigned total = __reduce_add_sync(ALL, __popc(parities));
            if (lane == i) counted = total;
        }
        if (exists) atomicAdd(&odd[start + lane], (Word)counted);
    }
}
