/* options.c: the command line. `plumb serve` has the help of each option, and passes them on as
 * "--name=value"; a test compares the two tables. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "serve.h"

enum option_kind { OPTION_TEXT, OPTION_LIST, OPTION_NUMBER, OPTION_FLAG };

struct option_row {
    const char *name;
    enum option_kind kind;
    size_t offset;
    uint64_t least, most; /* of a number */
    const char *variable; /* gives the default of a number; NULL: none does */
};

#define AT(member) offsetof(struct serve_options, member)
static const struct option_row rows[] = {
    {"listen", OPTION_LIST, AT(listen), 0, 0, NULL},
    {"http", OPTION_LIST, AT(http), 0, 0, NULL},
    {"device-interval", OPTION_NUMBER, AT(device_interval_s), 0, 3600, NULL},
    {"tls-cert", OPTION_TEXT, AT(tls_cert), 0, 0, NULL},
    {"tls-key", OPTION_TEXT, AT(tls_key), 0, 0, NULL},
    {"client-ca", OPTION_TEXT, AT(client_ca), 0, 0, NULL},
    {"control-name", OPTION_LIST, AT(control_name), 0, 0, NULL},
    {"token", OPTION_TEXT, AT(token), 0, 0, NULL},
    {"read-token", OPTION_TEXT, AT(read_token), 0, 0, NULL},
    {"read-only", OPTION_FLAG, AT(read_only), 0, 0, NULL},
    {"any-user", OPTION_FLAG, AT(any_user), 0, 0, NULL},
    {"insecure", OPTION_FLAG, AT(insecure), 0, 0, NULL},
    {"runs", OPTION_TEXT, AT(runs), 0, 0, NULL},
    {"otlp", OPTION_TEXT, AT(otlp), 0, 0, NULL},
    {"workers", OPTION_NUMBER, AT(workers), 1, 256, "GRPC_MAX_WORKERS"},
    {"max-message", OPTION_NUMBER, AT(max_message_bytes), 100, INT32_MAX, "GRPC_MAX_MSG_SIZE"},
    {"idle", OPTION_NUMBER, AT(idle_s), 0, 86400, NULL},
    {"drain", OPTION_NUMBER, AT(drain_s), 0, 3600, NULL},
};
enum { ROWS = sizeof rows / sizeof *rows, FIRST_ROW = 256 };

static int take_number(uint64_t *out, const struct option_row *row, const char *what,
                       const char *text, plumb_error *err)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || n < row->least || n > row->most)
        return serve_fail(err, PLUMB_ERR_ARG, "%s wants a whole number from %llu to %llu, not '%s'",
                          what, (unsigned long long)row->least, (unsigned long long)row->most,
                          text);
    *out = n;
    return PLUMB_OK;
}

static int take(struct serve_options *o, const struct option_row *row, const char *value,
                plumb_error *err)
{
    char name[64];
    void *member = (char *)o + row->offset;
    snprintf(name, sizeof name, "--%s", row->name);
    if (row->kind == OPTION_FLAG) {
        *(bool *)member = true;
    } else if (row->kind == OPTION_NUMBER) {
        return take_number(member, row, name, value, err);
    } else if (!*value) {
        return serve_fail(err, PLUMB_ERR_ARG, "%s has an empty value", name);
    } else if (row->kind == OPTION_TEXT) {
        *(const char **)member = value;
    } else {
        struct serve_list *list = member;
        if (list->count == SERVE_LIST_MAX)
            return serve_fail(err, PLUMB_ERR_ARG, "%s may be given at most %d times", name,
                              SERVE_LIST_MAX);
        list->item[list->count++] = value;
    }
    return PLUMB_OK;
}

static int take_environment(struct serve_options *o, plumb_error *err)
{
    for (const struct option_row *row = rows; row < rows + ROWS; row++) {
        const char *text = row->variable ? getenv(row->variable) : NULL;
        if (!text || !*text)
            continue;
        int rc = take_number((uint64_t *)((char *)o + row->offset), row, row->variable, text, err);
        if (rc < 0)
            return rc;
    }
    return PLUMB_OK;
}

static int check(const struct serve_options *o, plumb_error *err)
{
    if (!o->tls_cert != !o->tls_key)
        return serve_fail(err, PLUMB_ERR_ARG,
                          "--tls-cert and --tls-key belong together: the certificate, and its key");
    if (o->client_ca && !o->tls_cert)
        return serve_fail(err, PLUMB_ERR_ARG, "--client-ca needs --tls-cert and --tls-key");
    if (o->control_name.count && !o->client_ca)
        return serve_fail(err, PLUMB_ERR_ARG,
                          "--control-name needs --client-ca: names are those of certificates");
    return PLUMB_OK;
}

int serve_options_read(struct serve_options *out, int argc, char **argv, plumb_error *err)
{
    struct option table[ROWS + 2] = {{"help", no_argument, NULL, 'h'}};
    struct serve_options o = {.workers = 10,
                              .max_message_bytes = (uint64_t)300 << 20,
                              .idle_s = 300,
                              .drain_s = 10,
                              .device_interval_s = 5};
    int got;
    for (int i = 0; i < ROWS; i++)
        table[i + 1] = (struct option){
            rows[i].name, rows[i].kind == OPTION_FLAG ? no_argument : required_argument, NULL,
            FIRST_ROW + i};
    int rc = take_environment(&o, err);
    opterr = 0;
    while (rc == PLUMB_OK && (got = getopt_long(argc, argv, ":h", table, NULL)) != -1) {
        if (got == 'h') {
            printf("plumb-serve is started by 'plumb serve'; see 'plumb serve --help'.\n");
            return SERVE_HELP;
        }
        if (got == ':')
            return serve_fail(err, PLUMB_ERR_ARG, "option '%s' needs a value", argv[optind - 1]);
        if (got == '?')
            return serve_fail(err, PLUMB_ERR_ARG, "unknown option '%s'", argv[optind - 1]);
        rc = take(&o, &rows[got - FIRST_ROW], optarg, err);
    }
    if (rc == PLUMB_OK && optind < argc)
        return serve_fail(err, PLUMB_ERR_ARG, "unexpected '%s'", argv[optind]);
    if (rc == PLUMB_OK)
        rc = check(&o, err);
    if (rc == PLUMB_OK && !o.listen.count && !o.http.count) {
        o.listen.item[o.listen.count++] = "127.0.0.1:50051";
        o.http.item[o.http.count++] = "127.0.0.1:9464";
    }
    if (rc == PLUMB_OK)
        *out = o;
    return rc;
}
