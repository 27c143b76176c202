/* energy.c: the energy of a recorded program. The command measures it, not the program: the
 * counters are the machine's, so the program need not have libplumb, and does no work for it. */
#include "energy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"

void plumb_cli_energy_begin(struct plumb_cli_energy *e)
{
    plumb_energy_options o = plumb_energy_options_default();
    plumb_error err = {0, ""};
    o.powercap = e->powercap;
    if (e->wanted && plumb_energy_open(&e->meter, &o, &err) < 0)
        plumb_cli_say(&plumb_cmd_record, "%s", err.message);
}

void plumb_cli_energy_end(struct plumb_cli_energy *e)
{
    if (e->meter)
        plumb_energy_stop(&e->energy, e->meter);
}

/* The command as one text, cut where it is longer. */
static void join(char *out, size_t size, char *const *argv)
{
    size_t n = 0;
    out[0] = '\0';
    for (; *argv && n < size; argv++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", n ? " " : "", *argv);
}

static void say_line(const plumb_energy *e)
{
    char cpu[120] = "", gpu[160] = "";
    if (e->cpu_available)
        snprintf(cpu, sizeof cpu, "processors %.4g J (%.4g W)", e->cpu_joules, e->cpu_mean_w);
    if (e->gpu_available)
        snprintf(gpu, sizeof gpu, "%sGPUs %.4g J (%.4g W, at most %.4g W)",
                 e->cpu_available ? ", " : "", e->gpu_joules, e->gpu_mean_w, e->gpu_peak_w);
    if (e->cpu_available || e->gpu_available)
        plumb_cli_say(&plumb_cmd_record, "energy in %.3f s: %s%s", e->duration_s, cpu, gpu);
    for (uint32_t i = 0; i < e->note_count; i++)
        plumb_cli_say(&plumb_cmd_record, "%s", e->notes[i]);
}

static void save(const struct plumb_cli_energy *e, const char *command, const char *run,
                 const char *path)
{
    plumb_error err = {0, ""};
    char *text = NULL;
    if (plumb_energy_json(&text, e->meter, command, run, &err) < 0 ||
        plumb_read_save(path, text, strlen(text), &err) < 0)
        plumb_cli_say(&plumb_cmd_record, "no energy in '%s': %s", path, err.message);
    plumb_read_free(text);
}

void plumb_cli_energy_show(struct plumb_cli_energy *e, char *const *argv,
                           const struct plumb_cli_log *log)
{
    char command[4096], run[1024], first[1024], path[1100], output[4096];
    struct plumb_cli_left left;
    if (!e->meter)
        return;
    join(command, sizeof command, argv);
    say_line(&e->energy);
    bool any = plumb_cli_log_run(log, 0, first, sizeof first);
    for (size_t i = 0; plumb_cli_log_run(log, i, run, sizeof run); i++) {
        snprintf(path, sizeof path, "%s/energy.json", run);
        save(e, command, run, path);
    }
    for (size_t i = 0; plumb_cli_log_left(log, i, &left); i++) {
        if (left.by_exec)
            continue;
        if (!any)
            snprintf(first, sizeof first, "%s", left.dir);
        any = true;
        snprintf(path, sizeof path, "%s/energy.json", left.dir);
        save(e, command, left.dir, path);
    }
    if (e->output && plumb_cli_host_path(&plumb_cmd_record, output, e->output))
        save(e, command, any ? first : NULL, output);
}

void plumb_cli_energy_free(struct plumb_cli_energy *e)
{
    plumb_energy_close(e->meter);
    e->meter = NULL;
}
