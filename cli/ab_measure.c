/* ab_measure.c: runs both variants in turn. The one that begins changes from round to round, so
 * that neither always runs after the other; a round is as short as two runs, so both see the same
 * machine. Programs are whole processes, whose standard output is discarded. */
#include "ab.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARM_UPS = 1000000 }; /* the names of their recordings begin here */

volatile sig_atomic_t plumb_ab_stopped;
/* For the handler: whom to pass the signal to. */
static volatile sig_atomic_t plumb_ab_running;

static void stop(int signal)
{
    int error = errno;
    plumb_ab_stopped = signal;
    if (plumb_ab_running > 0)
        kill(plumb_ab_running, signal);
    errno = error;
}

void plumb_ab_catch(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    struct sigaction act = {.sa_handler = stop};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction old;
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &act, NULL);
    }
}

/* ---- Command lines --------------------------------------------------------------------------- */

/* Appends `text` to `out` [room] with each `mark` replaced. Returns the length that it needs. */
static size_t replace(char *out, size_t room, const char *text, const char *mark, const char *with)
{
    size_t n = 0, bytes = strlen(mark);
    while (*text) {
        bool here = strncmp(text, mark, bytes) == 0;
        const char *from = here ? with : text;
        size_t count = here ? strlen(with) : 1;
        for (size_t i = 0; i < count; i++, n++)
            if (n + 1 < room)
                out[n] = from[i];
        text += here ? bytes : 1;
    }
    if (room > 0)
        out[n < room ? n : room - 1] = '\0';
    return n;
}

/* A copy of the argument with {NAME} and {type} replaced; NULL: no memory. */
static char *expand(const struct plumb_ab *ab, const struct plumb_ab_pair *pair, int side,
                    const char *text)
{
    char mark[80], number[24];
    const char *type = pair->type;
    size_t first, second;
    char *once, *twice = NULL;
    if (ab->type_count == 2 && !ab->argv[1][0]) /* the types are the sides */
        type = ab->types[side];
    snprintf(mark, sizeof mark, "{%s}", ab->size_name);
    snprintf(number, sizeof number, "%" PRIu64, pair->size);
    first = replace(NULL, 0, text, mark, number) + 1;
    once = malloc(first);
    if (once) {
        replace(once, first, text, mark, number);
        second = replace(NULL, 0, once, "{type}", type) + 1;
        twice = malloc(second);
        if (twice)
            replace(twice, second, once, "{type}", type);
    }
    free(once);
    return twice;
}

static void free_arguments(char **argv)
{
    for (size_t i = 0; argv && argv[i]; i++)
        free(argv[i]);
    free(argv);
}

const char *plumb_ab_recording(char out[4200], const struct plumb_ab *ab,
                               const struct plumb_ab_pair *pair, int side, size_t i)
{
    snprintf(out, 4200, "%s/%zu-%c-%zu", ab->folder, (size_t)(pair - ab->pairs), "ab"[side], i);
    return access(out, F_OK) == 0 ? out : NULL;
}

/* The command line of a side, recorded if it is to be. */
static char **arguments(const struct plumb_ab *ab, const struct plumb_ab_pair *pair, int side,
                        size_t round)
{
    enum { BEFORE = 5 };
    char run[4200];
    const char *before[BEFORE] = {"/proc/self/exe", "record", "--run-dir", run, "--"};
    char *const *own = ab->argv[ab->argv[1][0] ? side : 0];
    size_t n = 0, count = 0;
    while (own[count])
        count++;
    char **argv = calloc(count + BEFORE + 1, sizeof *argv);
    bool failed = !argv;
    plumb_ab_recording(run, ab, pair, side, round);
    for (size_t i = 0; !failed && ab->record && i < BEFORE; i++)
        failed |= !(argv[n++] = strdup(before[i]));
    for (size_t i = 0; !failed && i < count; i++)
        failed |= !(argv[n++] = expand(ab, pair, side, own[i]));
    if (failed) {
        free_arguments(argv);
        return NULL;
    }
    return argv;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Gives each run the same input: a file from where the shell left it, otherwise nothing. Runs that
 * shared one description would leave only the first of them something to read. */
static void give_input(void)
{
    struct stat st;
    off_t start = lseek(STDIN_FILENO, 0, SEEK_CUR);
    bool file = fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) && start >= 0;
    int fd = file ? open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0 && lseek(fd, start, SEEK_SET) < 0)
        start = 0;
    if (fd < 0)
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        dup2(fd, STDIN_FILENO);
}

static void become(char **argv)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0)
        dup2(null, STDOUT_FILENO);
    give_input();
    setenv("PLUMB_QUIET", "1", 1);
    execvp(argv[0], argv);
    fprintf(stderr, "plumb ab: '%s' cannot be started: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* Runs a program to its end. Returns its wait status; -1: no process, errno says why. */
static int run_program(char **argv, double *wall_ns, double *cpu_ns)
{
    struct timespec begin, end;
    struct rusage use;
    int status;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pid_t pid = fork();
    if (pid < 0)
        return -1;
    if (pid == 0)
        become(argv);
    plumb_ab_running = pid;
    if (plumb_ab_stopped) /* before the handler could know of it */
        kill(pid, plumb_ab_stopped);
    while (wait4(pid, &status, 0, &use) < 0)
        if (errno != EINTR)
            return -1;
    plumb_ab_running = 0;
    clock_gettime(CLOCK_MONOTONIC, &end);
    *wall_ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
    *cpu_ns = (seconds_of(use.ru_utime) + seconds_of(use.ru_stime)) * 1e9;
    return status;
}

static bool ended_well(const struct plumb_ab *ab, const struct plumb_ab_pair *pair, int side,
                       int status)
{
    const char *name = side ? pair->b : pair->a;
    if (plumb_ab_stopped)
        return false;
    if (status == -1)
        plumb_cli_say(ab->command, "no process for %s: %s", name, strerror(errno));
    else if (WIFSIGNALED(status))
        plumb_cli_say(ab->command, "%s was ended by signal %d: nothing is compared", name,
                      WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        plumb_cli_say(ab->command, "%s ended with status %d: nothing is compared", name,
                      WEXITSTATUS(status));
    else
        return true;
    return false;
}

/* The node's time in a recording. */
static bool read_node(const struct plumb_ab *ab, struct plumb_ab_pair *pair, const char *run,
                      double *ns)
{
    plumb_error err = {0, ""};
    double resolution = 0;
    int found = run ? plumb_gate_read_time(ns, &resolution, run, ab->node, &err) : -1;
    if (resolution > pair->resolution)
        pair->resolution = resolution;
    if (found < 0)
        plumb_cli_say(ab->command, "%s", run ? err.message : "nothing was recorded");
    else if (found == 0)
        plumb_cli_say(ab->command, "the recording has no time of node '%s'", ab->node);
    return found > 0;
}

static bool run_side(const struct plumb_ab *ab, struct plumb_ab_pair *pair, int side, size_t round,
                     bool keep)
{
    char **argv = arguments(ab, pair, side, round);
    double wall, cpu, node = 0;
    char run[4200];
    int status;
    if (!argv) {
        plumb_cli_say(ab->command, "out of memory");
        return false;
    }
    status = run_program(argv, &wall, &cpu);
    free_arguments(argv);
    if (!ended_well(ab, pair, side, status))
        return false;
    if (ab->node && !read_node(ab, pair, plumb_ab_recording(run, ab, pair, side, round), &node))
        return false;
    if (!keep)
        return true;
    pair->ns[side][PLUMB_AB_WALL][round] = wall;
    pair->ns[side][PLUMB_AB_CPU][round] = cpu;
    pair->ns[side][PLUMB_AB_NODE][round] = node;
    return true;
}

static bool make_room(const struct plumb_ab *ab, struct plumb_ab_pair *pair, size_t rounds)
{
    for (int side = 0; side < 2; side++)
        for (int figure = 0; figure < PLUMB_AB_FIGURES; figure++) {
            double *grown = realloc(pair->ns[side][figure], rounds * sizeof *grown);
            if (!grown) {
                plumb_cli_say(ab->command, "out of memory");
                return false;
            }
            pair->ns[side][figure] = grown;
        }
    return true;
}

/* Warm-ups are recorded as rounds are, so that they warm the same things up. */
static bool warm_up(const struct plumb_ab *ab, struct plumb_ab_pair *pair)
{
    for (uint64_t i = 0; i < ab->warmup; i++)
        for (int side = 0; side < 2; side++)
            if (!run_side(ab, pair, side, WARM_UPS + (size_t)i, false))
                return false;
    return true;
}

/* Prints how long the measurement may take, if that is longer than a minute. */
static void say_duration(const struct plumb_ab *ab, const struct plumb_ab_pair *pair)
{
    enum { PATIENCE_S = 60 };
    double round_s = (pair->ns[0][PLUMB_AB_WALL][0] + pair->ns[1][PLUMB_AB_WALL][0]) / 1e9;
    double all_s = round_s * (double)ab->most_rounds;
    if (all_s > PATIENCE_S)
        plumb_cli_say(ab->command,
                      "a round of both takes about %.1f s, and %zu rounds %.0f minutes: --rounds "
                      "sets another limit",
                      round_s, ab->most_rounds, all_s / 60);
}

enum plumb_ab_figure plumb_ab_figure(const struct plumb_ab *ab)
{
    return ab->node ? PLUMB_AB_NODE : PLUMB_AB_WALL;
}

plumb_gate_point plumb_ab_point(const struct plumb_ab *ab, const struct plumb_ab_pair *pair)
{
    enum plumb_ab_figure figure = plumb_ab_figure(ab);
    return (plumb_gate_point){pair->size, pair->ns[0][figure], pair->ns[1][figure], pair->rounds,
                              figure == PLUMB_AB_NODE ? pair->resolution : 0};
}

bool plumb_ab_measure(const struct plumb_ab *ab, struct plumb_ab_pair *pair, size_t rounds)
{
    size_t end = pair->rounds + rounds;
    if (!make_room(ab, pair, end) || (pair->rounds == 0 && !warm_up(ab, pair)))
        return false;
    for (size_t i = pair->rounds; i < end; i++) {
        int first = (int)(i % 2);
        if (!run_side(ab, pair, first, i, true) || !run_side(ab, pair, !first, i, true))
            return false;
        pair->rounds = i + 1;
        if (i == 0 && ab->pair_count == 1)
            say_duration(ab, pair);
    }
    return true;
}

/* ---- Figures --------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t below = (size_t)at;
    double part = at - (double)below;
    return below + 1 < n ? sorted[below] + part * (sorted[below + 1] - sorted[below])
                         : sorted[n - 1];
}

struct plumb_ab_spread plumb_ab_spread(const double *ns, size_t n, double *scratch)
{
    memcpy(scratch, ns, n * sizeof *ns);
    qsort(scratch, n, sizeof *scratch, ascending);
    return (struct plumb_ab_spread){quantile(scratch, n, 0.5), quantile(scratch, n, 0.95),
                                    scratch[0]};
}
