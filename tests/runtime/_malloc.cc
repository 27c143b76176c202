// new and delete in every form, and a thread's object that allocates when the thread is gone.
// Says what it did as _malloc.c does.
#include <cstdio>
#include <malloc.h>
#include <new>
#include <string>
#include <thread>

#include <plumb/plumb.hpp>

struct alignas(128) Wide {
    char bytes[200];
};

// Optimisers may leave a pair of new and delete out.
template <typename T> static T *seen(T *p)
{
    asm volatile("" : "+r"(p) : : "memory");
    return p;
}

static size_t bytes;

template <typename T> static T *got(T *p)
{
    bytes += malloc_usable_size(p);
    return seen(p);
}

struct Late {
    ~Late()
    {
        delete seen(new int(1));
    }
};

int main()
{
    {
        PLUMB_SPAN("new");
        delete got(new int(3));
        delete[] got(new char[1000]);
        delete got(new (std::nothrow) double(1));
        delete got(new Wide);
    }
    std::thread([] {
        static thread_local Late late;
        (void)late;
    }).join();
    bool thrown = false;
    try {
        seen(new char[static_cast<size_t>(-1) / 4]);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    std::printf("new 4 %zu 4 %zu\n", bytes, bytes);
    return thrown ? 5 : 1;
}
