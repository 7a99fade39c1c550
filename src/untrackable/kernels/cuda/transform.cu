// The Walsh-Hadamard transform in place. One launch does several levels, a tile of entries per block.
//
// Compiled with
//   ENTRY        the type of an entry
//   TILE_BITS    a tile has 2^TILE_BITS entries, and a block has a thread for every 16 of them
//   COLUMN_BITS  a row of a tile has 2^COLUMN_BITS neighbouring entries
//
// Rows are 2^stride_bits entries apart. The levels done are those between the rows of a tile. With COLUMN_BITS = 0 and
// stride_bits = 0, a tile is a run of neighbouring entries, and its lowest TILE_BITS levels are done.

constexpr int HELD_BITS = 4;  // A thread holds 2^HELD_BITS entries and does as many levels before it passes them on.
constexpr int HELD = 1 << HELD_BITS;
constexpr int LEVELS = TILE_BITS - COLUMN_BITS;
constexpr int PADDING = sizeof(ENTRY) == 8 ? 4 : 5;  // One more entry after each 2^PADDING, against bank conflicts.

extern __shared__ __align__(16) unsigned char shared_memory[];

static __device__ __forceinline__ long long first_of_tile(long long tile, int stride_bits) {
    int across = stride_bits - COLUMN_BITS;  // 2^across tiles lie side by side.
    return (tile >> across << (stride_bits + LEVELS)) + ((tile & ((1LL << across) - 1)) << COLUMN_BITS);
}

// Where entry i of a tile is, from the tile's first entry. The sum for two numbers without common bits is the place of both.
static __device__ __forceinline__ long long place(unsigned i, int stride_bits) {
    return ((long long)(i >> COLUMN_BITS) << stride_bits) + (i & ((1u << COLUMN_BITS) - 1));
}

static __device__ __forceinline__ unsigned padded(unsigned i) { return i + (i >> PADDING); }

// The lowest of the HELD_BITS bits in which the entries of a thread differ, if the levels from bit `top` up are done.
static constexpr __host__ __device__ int lowest_held(int top) {
    int lowest = COLUMN_BITS < TILE_BITS - HELD_BITS ? COLUMN_BITS : TILE_BITS - HELD_BITS;
    return top - HELD_BITS > lowest ? top - HELD_BITS : lowest;
}

// Do all levels below bit TOP of the index within the tile, from the highest to the lowest.
template <int TOP>
static __device__ __forceinline__ void do_levels(ENTRY *entries, ENTRY *tile, int stride_bits) {
    constexpr int low = lowest_held(TOP);
    unsigned first = (threadIdx.x >> low << (low + HELD_BITS)) | (threadIdx.x & ((1u << low) - 1));
    ENTRY held[HELD];
#pragma unroll
    for (int j = 0; j < HELD; ++j) {
        held[j] = TOP == TILE_BITS ? entries[place(first, stride_bits) + place(j << low, stride_bits)]
                                   : tile[padded(first | j << low)];
    }
#pragma unroll
    for (int bit = low; bit < low + HELD_BITS; ++bit) {
        if (bit < COLUMN_BITS || bit >= TOP) continue;
#pragma unroll
        for (int j = 0; j < HELD; ++j) {
            int other = j | 1 << (bit - low);
            if (j == other) continue;
            ENTRY sum = held[j] + held[other];
            held[other] = held[j] - held[other];
            held[j] = sum;
        }
    }
    if constexpr (low <= COLUMN_BITS && COLUMN_BITS > 0) {
#pragma unroll
        for (int j = 0; j < HELD; ++j) {
            entries[place(first, stride_bits) + place(j << low, stride_bits)] = held[j];
        }
    } else {
#pragma unroll
        for (int j = 0; j < HELD; ++j) tile[padded(first | j << low)] = held[j];
        __syncthreads();
        if constexpr (low > COLUMN_BITS) {
            do_levels<low>(entries, tile, stride_bits);
        } else {  // The threads write neighbouring entries together, although each holds 16 neighbours.
#pragma unroll
            for (int j = 0; j < HELD; ++j) {
                unsigned i = j * blockDim.x + threadIdx.x;
                entries[i] = tile[padded(i)];
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(1 << (TILE_BITS - HELD_BITS), 2)
transform_levels(ENTRY *entries, int stride_bits) {
    ENTRY *tile = reinterpret_cast<ENTRY *>(shared_memory);
    do_levels<TILE_BITS>(entries + first_of_tile(blockIdx.x, stride_bits), tile, stride_bits);
}
