/* help.h: the forms of the help that cmd_help.c prints. */
#ifndef PLUMB_CLI_HELP_H
#define PLUMB_CLI_HELP_H

#include "cli.h"

/* Option `i` of the command: its own, then those of the settings, then --help; false beyond. */
bool plumb_cli_option_at(const struct plumb_cli_command *c, size_t i, struct plumb_cli_option *out,
                         plumb_setting_info *memory);
/* NULL: the page of plumb itself. */
void plumb_cli_show_man(const struct plumb_cli_command *c, FILE *out);
/* Prints which command or call of plumb replaces each capability of the profiler `name` (tools.c).
 * Returns false, and prints nothing, if the profiler is unknown. */
bool plumb_cli_show_tool(const char *name, FILE *out);
/* Page `i` that is neither a command nor a variable; NULL beyond the last. */
const char *plumb_cli_page(size_t i);
/* completion.c */
void plumb_cli_show_bash(FILE *out);
void plumb_cli_show_zsh(FILE *out);
void plumb_cli_show_fish(FILE *out);

#endif
