// The kernels' own source, run by `emulated_gpu.h`. KERNEL says which of them: its arguments come as numbers.
#include "emulated_gpu.h"
#include KERNEL

static const std::int64_t *given;

template <class T>
static T *pointer(int i) { return reinterpret_cast<T *>(given[i]); }

static void called() {
#if defined(TRANSFORM)
    transform_levels(pointer<ENTRY>(0), int(given[1]));
#elif defined(PARITY)
    add_odd_parities(pointer<Word>(0), given[1], pointer<Word>(2), given[3], pointer<Word>(4));
#elif defined(CHILDREN)
    mark_striking(pointer<Word>(0), pointer<Word>(1), given[2], given[3], pointer<short>(4), pointer<long long>(5),
                  Word(given[6]), int(given[7]), pointer<bool>(8));
#else
    add_signs(pointer<Word>(0), given[1], pointer<Word>(2));
#endif
}

extern "C" void run(const std::int64_t *arguments, unsigned columns, unsigned rows, unsigned threads, int backwards) {
    given = arguments;
    launch(called, {columns, rows}, threads, backwards != 0);
}
