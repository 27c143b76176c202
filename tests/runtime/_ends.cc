// Spans in everything that runs before main, at the end of a thread, and after main, in two
// translation units: whoever comes first or last, the runtime is there before and after it.
#include <cstdlib>
#include <thread>

#include <plumb/plumb.hpp>

namespace
{
struct Late {
    const char *what;
    explicit Late(const char *name) : what(name)
    {
        PLUMB_SPAN("object begins");
    }
    ~Late()
    {
        plumb_end(plumb_begin_node(plumb_node_get(what)));
    }
};
Late of_the_program("static object");
thread_local Late of_a_thread("thread object");

void again()
{
    PLUMB_SPAN("again"); // passed long before the end, and then
}
__attribute__((constructor)) void before_main()
{
    again();
    PLUMB_SPAN("constructor");
}
__attribute__((destructor)) void after_main()
{
    again();
    PLUMB_SPAN("destructor");
}
void at_exit()
{
    PLUMB_SPAN("atexit");
}
} // namespace

#ifdef MAIN
void other_unit();
int main()
{
    std::atexit(at_exit);
    std::thread thread([] { of_a_thread.what = "thread object"; });
    thread.join();
    other_unit();
    return 0;
}
#else
void other_unit();
void other_unit()
{
    std::atexit(at_exit);
    std::thread thread([] { of_a_thread.what = "thread object"; });
    thread.join();
}
#endif
