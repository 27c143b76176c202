/* top_terminal.c: the description of the terminal. A file of its own, because <term.h> defines
 * words such as `columns` and `lines`. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "top.h"

#if PLUMB_HAVE_TOP
#include <curses.h>
#include <term.h>

static bool has(const char *capability)
{
    const char *text = tigetstr(capability);
    return text && text != (const char *)-1;
}

bool plumb_top_terminal_can(void)
{
    const char *term = getenv("TERM");
    int error;
    return isatty(STDOUT_FILENO) && term && *term && setupterm(term, STDOUT_FILENO, &error) == OK &&
           has("cup");
}

size_t plumb_top_terminal_restore(char *out, size_t room)
{
    static const char *const capabilities[] = {"sgr0", "cnorm", "rmkx", "rmcup"};
    size_t at = 0;
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        const char *text = has(capabilities[i]) ? tigetstr(capabilities[i]) : "";
        size_t n = strlen(text);
        if (n > room - at)
            break;
        memcpy(out + at, text, n);
        at += n;
    }
    return at;
}
#else
bool plumb_top_terminal_can(void)
{
    return false;
}
#endif
