/* otlp_post.c: OTLP over HTTP by libcurl, which knows TLS, proxies and the rest. Certificates are
 * verified, redirects are not followed, and no other scheme is spoken. An answer is read up to 64
 * KiB. */
#include "otlp_post.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include <plumb/version.h>

enum { ANSWER_MAX = 65536, CONNECT_MS = 5000, TOTAL_MS = 10000, RETRY_MAX_S = 300 };

struct otlp_post {
    CURL *curl;
    struct curl_slist *headers;
    char *url;   /* that is called */
    char *shown; /* the same without user and password */
    atomic_bool aborted;
    char answer[ANSWER_MAX + 1];
    size_t answer_bytes;
};

/* ---- Headers --------------------------------------------------------------------------------- */

static bool is_token(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("!#$%&'*+-.^_`|~", text[i]))
            return false;
    return n > 0;
}

/* Decodes %XX. Returns the length, or SIZE_MAX: a character that no header has. */
static size_t decode(char *out, const char *from, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        char c = from[i];
        if (c == '%' && n - i > 2 && isxdigit((unsigned char)from[i + 1]) &&
            isxdigit((unsigned char)from[i + 2])) {
            const char hex[] = {from[i + 1], from[i + 2], '\0'};
            c = (char)strtoul(hex, NULL, 16);
            i += 2;
        }
        if ((unsigned char)c < 0x20 || c == 0x7f)
            return SIZE_MAX;
        out[used++] = c;
    }
    return used;
}

static bool add_header(struct otlp_post *p, const char *line)
{
    struct curl_slist *more = curl_slist_append(p->headers, line);
    if (more)
        p->headers = more;
    return more != NULL;
}

/* One NAME=VALUE. The value may be a secret: no message has it. */
static int add_pair(struct otlp_post *p, const char *pair, size_t n, const char *variable,
                    plumb_error *err)
{
    const char *equals = memchr(pair, '=', n);
    size_t name = equals ? (size_t)(equals - pair) : n, value;
    char *line = malloc(n + 3);
    int rc = PLUMB_OK;
    if (!line)
        return serve_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    while (name > 0 && pair[name - 1] == ' ')
        name--;
    if (!equals || !is_token(pair, name)) {
        rc = serve_fail(err, PLUMB_ERR_ARG, "%s is not NAME=VALUE,NAME=VALUE", variable);
    } else {
        memcpy(line, pair, name);
        memcpy(line + name, ": ", 2);
        value = decode(line + name + 2, equals + 1, n - (size_t)(equals - pair) - 1);
        if (value == SIZE_MAX)
            rc = serve_fail(err, PLUMB_ERR_ARG, "%s: the value of '%.*s' has a control character",
                            variable, (int)name, pair);
        else
            line[name + 2 + value] = '\0';
    }
    if (rc == PLUMB_OK && !add_header(p, line))
        rc = serve_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    free(line);
    return rc;
}

static int add_headers(struct otlp_post *p, plumb_error *err)
{
    const char *variable = "OTEL_EXPORTER_OTLP_TRACES_HEADERS", *text = getenv(variable);
    int rc = PLUMB_OK;
    if (!text || !*text) {
        variable = "OTEL_EXPORTER_OTLP_HEADERS";
        text = getenv(variable);
    }
    /* curl would wait for "100 Continue" before it sends a larger text. */
    if (!add_header(p, "Content-Type: application/json") || !add_header(p, "Expect:"))
        return serve_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    for (const char *end; rc == PLUMB_OK && text && *text; text = *end ? end + 1 : end) {
        end = text + strcspn(text, ",");
        while (text < end && *text == ' ')
            text++;
        if (end > text)
            rc = add_pair(p, text, (size_t)(end - text), variable, err);
    }
    return rc;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static char *part_of(CURLU *u, CURLUPart part)
{
    char *text = NULL;
    return curl_url_get(u, part, &text, 0) == CURLUE_OK ? text : NULL;
}

static int read_url(struct otlp_post *p, const char *url, plumb_error *err)
{
    CURLU *u = curl_url();
    char *scheme = NULL, *path = NULL;
    int rc = PLUMB_OK;
    if (!u)
        return serve_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    if (curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK ||
        !(scheme = part_of(u, CURLUPART_SCHEME)) ||
        (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)) {
        rc = serve_fail(err, PLUMB_ERR_ARG, "--otlp wants http://HOST:PORT or https://HOST:PORT");
        goto out;
    }
    path = part_of(u, CURLUPART_PATH);
    if (!path || strcmp(path, "/") == 0)
        curl_url_set(u, CURLUPART_PATH, "/v1/traces", 0);
    p->url = part_of(u, CURLUPART_URL);
    curl_url_set(u, CURLUPART_USER, NULL, 0);
    curl_url_set(u, CURLUPART_PASSWORD, NULL, 0);
    curl_url_set(u, CURLUPART_QUERY, NULL, 0);
    p->shown = part_of(u, CURLUPART_URL);
    if (!p->url || !p->shown)
        rc = serve_fail(err, PLUMB_ERR_MEMORY, "out of memory");
out:
    curl_free(scheme);
    curl_free(path);
    curl_url_cleanup(u);
    return rc;
}

static size_t take_answer(char *bytes, size_t one, size_t n, void *arg)
{
    struct otlp_post *p = arg;
    size_t space = ANSWER_MAX - p->answer_bytes, taken = n < space ? n : space;
    (void)one; /* 1 */
    memcpy(p->answer + p->answer_bytes, bytes, taken);
    p->answer_bytes += taken;
    return n; /* the rest is dropped */
}

static int look_for_abort(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct otlp_post *p = arg;
    (void)a, (void)b, (void)c, (void)d;
    return atomic_load(&p->aborted);
}

static void set_up(struct otlp_post *p)
{
    const char *trusted = getenv("OTEL_EXPORTER_OTLP_CERTIFICATE");
    curl_easy_setopt(p->curl, CURLOPT_URL, p->url);
    curl_easy_setopt(p->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(p->curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(p->curl, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(p->curl, CURLOPT_SSL_VERIFYHOST, 2L);
    if (trusted && *trusted)
        curl_easy_setopt(p->curl, CURLOPT_CAINFO, trusted);
    curl_easy_setopt(p->curl, CURLOPT_HTTPHEADER, p->headers);
    curl_easy_setopt(p->curl, CURLOPT_USERAGENT, "plumb/" PLUMB_VERSION);
    curl_easy_setopt(p->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(p->curl, CURLOPT_TIMEOUT_MS, (long)TOTAL_MS);
    curl_easy_setopt(p->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(p->curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(p->curl, CURLOPT_WRITEDATA, p);
    curl_easy_setopt(p->curl, CURLOPT_XFERINFOFUNCTION, look_for_abort);
    curl_easy_setopt(p->curl, CURLOPT_XFERINFODATA, p);
    curl_easy_setopt(p->curl, CURLOPT_NOPROGRESS, 0L);
}

int otlp_post_open(struct otlp_post **out, const char *url, plumb_error *err)
{
    struct otlp_post *p = calloc(1, sizeof *p);
    int rc;
    if (!p || curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
        free(p);
        return serve_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    }
    rc = read_url(p, url, err);
    if (rc == PLUMB_OK)
        rc = add_headers(p, err);
    if (rc == PLUMB_OK && !(p->curl = curl_easy_init()))
        rc = serve_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    if (rc == PLUMB_OK) {
        set_up(p);
        *out = p;
        p = NULL;
    }
    otlp_post_close(p);
    return rc;
}

void otlp_post_close(struct otlp_post *post)
{
    if (!post)
        return;
    curl_easy_cleanup(post->curl);
    curl_slist_free_all(post->headers);
    curl_free(post->url);
    curl_free(post->shown);
    free(post);
    curl_global_cleanup();
}

const char *otlp_post_url(const struct otlp_post *post)
{
    return post->shown;
}

void otlp_post_abort(struct otlp_post *post)
{
    atomic_store(&post->aborted, true);
}

/* ---- Sending --------------------------------------------------------------------------------- */

/* "partialSuccess": {"rejectedSpans": "3", ...}, of a text that was taken. Its number alone counts,
 * so the answer is not parsed: what does not look like it counts as none. */
static uint64_t rejected_spans(const char *answer)
{
    const char *at = strstr(answer, "\"rejectedSpans\"");
    if (!at)
        return 0;
    at += strlen("\"rejectedSpans\"");
    at += strspn(at, " \t\r\n:\"");
    return isdigit((unsigned char)*at) ? strtoull(at, NULL, 10) : 0;
}

static bool asks_again(long status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

enum otlp_answer otlp_post_send(struct otlp_post *post, const char *text, size_t bytes,
                                struct otlp_reply *reply)
{
    char detail[CURL_ERROR_SIZE] = "";
    curl_off_t pause = 0;
    long status = 0;
    CURLcode code;
    memset(reply, 0, sizeof *reply);
    post->answer_bytes = 0;
    curl_easy_setopt(post->curl, CURLOPT_ERRORBUFFER, detail);
    curl_easy_setopt(post->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes);
    curl_easy_setopt(post->curl, CURLOPT_POSTFIELDS, text);
    code = curl_easy_perform(post->curl);
    curl_easy_setopt(post->curl, CURLOPT_ERRORBUFFER, NULL);
    post->answer[post->answer_bytes] = '\0';
    if (code != CURLE_OK) {
        snprintf(reply->why, sizeof reply->why, "%.200s",
                 *detail ? detail : curl_easy_strerror(code));
        return OTLP_LATER;
    }
    curl_easy_getinfo(post->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(post->curl, CURLINFO_RETRY_AFTER, &pause);
    reply->retry_after_s = pause > 0 ? (uint64_t)(pause < RETRY_MAX_S ? pause : RETRY_MAX_S) : 0;
    if (status >= 200 && status < 300) {
        reply->rejected = rejected_spans(post->answer);
        snprintf(reply->why, sizeof reply->why, "%.200s", post->answer);
        return OTLP_TAKEN;
    }
    snprintf(reply->why, sizeof reply->why, "it answers with status %ld: %.200s", status,
             post->answer);
    return asks_again(status) ? OTLP_LATER : OTLP_REFUSED;
}
