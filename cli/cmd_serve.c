/* cmd_serve.c: plumb serve. The server is a program of its own, plumb-serve, which lies next to
 * this one: gRPC and TLS would make every start of the command slow. It reads the same options. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { WORDS_MAX = 64 };

static const struct plumb_cli_option options[] = {
    {"listen", "ADDRESS", "gRPC: HOST:PORT or unix:PATH; may be repeated (127.0.0.1:50051)", false},
    {"http", "ADDRESS", "HTTP, for Prometheus: the same forms; may be repeated (127.0.0.1:9464)",
     false},
    {"device-interval", "SECONDS", "between readings of GPUs for HTTP; 0: none is read (5)", false},
    {"tls-cert", "FILE", "certificate of the server, PEM; turns TLS on", false},
    {"tls-key", "FILE", "its private key, PEM", false},
    {"client-ca", "FILE", "demand client certificates that this authority has signed", false},
    {"control-name", "NAME",
     "certificates of this name have the control role, all others may read; may be repeated",
     false},
    {"token", "FILE", "file with the bearer token of the control role", false},
    {"read-token", "FILE", "file with the bearer token of the read-only role", false},
    {"read-only", NULL, "give the control role to no caller", false},
    {"any-user", NULL, "on loopback, without a token: other users of this machine too", false},
    {"insecure", NULL, "allow an address beyond this machine without TLS", false},
    {"runs", "DIR", "folder of runs for ListRuns and GetRun (PLUMB_DIR, else plumb-out)", false},
    {"otlp", "URL", "send the requests of runs to this collector of OpenTelemetry", false},
    {"workers", "N", "threads that answer calls (GRPC_MAX_WORKERS, else 10)", false},
    {"max-message", "BYTES", "largest message (GRPC_MAX_MSG_SIZE, else 314572800)", false},
    {"idle", "SECONDS", "close gRPC connections that have no call for so long; 0: never (300)",
     false},
    {"drain", "SECONDS", "how long calls may go on after SIGTERM (10)", false},
    {NULL, NULL, NULL, false},
};

/* Writes the path of plumb-serve: an installed tree may be moved as a whole. */
static void server_path(char *out, size_t size)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    snprintf(out, size, "%s/plumb-serve", self);
}

static int start(char **argv)
{
    char path[PATH_MAX + 16];
    server_path(path, sizeof path);
    argv[0] = path;
    fflush(NULL);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        fcntl(fd, F_SETFD, 0); /* what main.c has put in the place of a closed one stays there */
    execv(path, argv);
    int why = errno;
    plumb_cli_say(&plumb_cmd_serve, "cannot start '%s': %s%s", path, strerror(why),
                  PLUMB_HAVE_SERVE ? "; reinstall plumb"
                                   : "; this plumb was built without it (PLUMB_SERVE)");
    return PLUMB_EXIT_TROUBLE;
}

/* Returns an option as one word, for the caller to free; NULL: out of memory. */
static char *word_of(const char *name, const char *value)
{
    size_t size = strlen(name) + (value ? strlen(value) : 0) + sizeof "--=";
    char *word = malloc(size);
    if (word)
        snprintf(word, size, "--%s%s%s", name, value ? "=" : "", value ? value : "");
    return word;
}

static int run(int argc, char **argv)
{
    char *words[WORDS_MAX + 2] = {NULL};
    int count = 1;
    struct plumb_cli_args args;
    int option, status = PLUMB_EXIT_TROUBLE;
    plumb_cli_args_init(&args, &plumb_cmd_serve, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0) {
        if (count > WORDS_MAX) {
            plumb_cli_usage(&plumb_cmd_serve, "more than %d options", WORDS_MAX);
            goto out;
        }
        if (!(words[count] = word_of(options[option].name, args.value))) {
            plumb_cli_say(&plumb_cmd_serve, "out of memory");
            goto out;
        }
        count++;
    }
    if (option != PLUMB_ARGS_END)
        status = plumb_cli_args_status(option);
    else if (args.operand < argc)
        status = plumb_cli_args_status(
            plumb_cli_usage(&plumb_cmd_serve, "unexpected '%s'", argv[args.operand]));
    else
        status = start(words);
out:
    for (int i = 1; i < count; i++)
        free(words[i]);
    return status;
}

const struct plumb_cli_command plumb_cmd_serve = {
    .name = "serve",
    .summary = "watch and steer running processes over gRPC, metrics over HTTP",
    .synopsis = "[--listen ADDRESS] [--token FILE] [--tls-cert FILE ...]",
    .description = "Serves the processes of this user that plumb is in (see 'plumb ps'), and the\n"
                   "runs below a folder. The recorded process knows nothing of gRPC: the server\n"
                   "is a process of its own, and may start, end and be killed at any time.\n"
                   "\n"
                   "Services: plumb.v1.Profiler, cuvis_ai.v1.CuvisAIService, grpc.health.v1 and\n"
                   "server reflection. Their .proto files are in share/plumb/proto. HTTP has\n"
                   "/metrics (Prometheus text and OpenMetrics), /api/summary (JSON), /healthz.\n"
                   "Where one of --listen and --http is given, the other is not served.\n"
                   "\n"
                   "By default only this user's processes on this machine are served. An address\n"
                   "beyond this machine needs TLS, or --insecure. A token file belongs to this\n"
                   "user and is closed to others (chmod 600). SIGTERM drains: calls may end.",
    .examples = "plumb serve                                        # ports 50051 and 9464\n"
                "plumb serve --listen unix:/run/user/1000/plumb.grpc\n"
                "plumb serve --http 0.0.0.0:9464 --tls-cert c.pem --tls-key k.pem \\\n"
                "            --read-token read.token               # for Prometheus\n"
                "plumb serve --listen 0.0.0.0:50051 --tls-cert c.pem --tls-key k.pem \\\n"
                "            --token control.token --read-token read.token",
    .status = "0 ended by SIGTERM or SIGINT; 2 wrong usage, or an address, certificate or\n"
              "token file that cannot be used.",
    .options = options,
    .run = run,
};
