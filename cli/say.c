/* say.c: words to the user, apart from results. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

void plumb_cli_say(const struct plumb_cli_command *command, const char *format, ...)
{
    char line[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    /* One call, so that lines of several processes do not mix. */
    fprintf(stderr, "plumb%s%s: %s\n", command ? " " : "", command ? command->name : "", line);
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
