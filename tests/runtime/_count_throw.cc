// _count_throw.cc: exceptions that pass through counted calls, for count_calls.sh.
#include <cstdio>
#include <stdexcept>
#include <string>

#include <plumb/plumb.h>

#include "_count_throw.h"

struct Guard {
    int *left;
    ~Guard()
    {
        ++*left;
    }
};

int main()
{
    int caught = 0, left = 0;
    for (int i = 0; i < 1000; i++) {
        PLUMB_SPAN("throws");
        try {
            Guard guard{&left};
            throw_if(i % 2 == 0, "odd");
            caught += between(i);
        } catch (const std::runtime_error &e) {
            caught += std::string(e.what()) == "odd" ? 1 : 1000;
        }
    }
    std::printf("%d %d\n", caught, left);
    return caught == 1000 && left == 1000 ? 7 : 1;
}
