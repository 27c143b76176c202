// _count_throw_lib.cc: see _count_throw.h.
#include "_count_throw.h"

#include <stdexcept>

void throw_if(bool now, const char *what)
{
    if (now)
        throw std::runtime_error(what);
}

// Catches and throws again: the unwinder passes the frame of the counted call twice.
int between(int i)
{
    try {
        throw_if(true, i % 4 == 1 ? "odd" : "even");
    } catch (...) {
        if (i % 4 == 1)
            throw;
    }
    return 1;
}
