/* say.c: words to the user, apart from results. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* Bytes of the control character at `p`; 0: it is not one. C1 controls are two bytes of UTF-8. */
static size_t control(const unsigned char *p)
{
    if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
        return 2;
    return *p < 0x20 || *p == 0x7f;
}

const char *plumb_cli_clean(char *out, size_t room, const char *text)
{
    enum { LONGEST = 8 }; /* two bytes as \xHH */
    const unsigned char *p = (const unsigned char *)text;
    size_t n = 0;
    while (*p && n + LONGEST < room) {
        size_t bytes = control(p);
        if (bytes == 0)
            out[n++] = (char)*p++;
        for (; bytes > 0; bytes--)
            n += (size_t)snprintf(out + n, room - n, "\\x%02x", *p++);
    }
    out[n] = '\0';
    return out;
}

void plumb_cli_say(const struct plumb_cli_command *command, const char *format, ...)
{
    char line[4096], clean[sizeof line];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    /* One call, so that lines of several processes do not mix. */
    fprintf(stderr, "plumb%s%s: %s\n", command ? " " : "", command ? command->name : "",
            plumb_cli_clean(clean, sizeof clean, line));
}

void plumb_cli_say_lines(const struct plumb_cli_command *command, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        plumb_cli_say(command, "%.*s", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

bool plumb_cli_colour(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

const char *plumb_cli_bytes(char out[32], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    snprintf(out, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return out;
}
