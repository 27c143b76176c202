/* serve_client.c: how long GetProfilingSummary takes, at several servers in turns:
 *   serve_client CALLS SESSION ADDRESS...
 * Prints for each server the median and the quartiles of its calls in us, and the bytes of an
 * answer. A client in C: one in Python takes several times as long as the server. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>

enum { SERVERS_MAX = 4, WARM_UP = 200 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The request: field 1, a text. */
static grpc_byte_buffer *request_for(const char *session)
{
    grpc_slice slice = grpc_slice_malloc(strlen(session) + 2);
    uint8_t *p = GRPC_SLICE_START_PTR(slice);
    p[0] = 0x0a;
    p[1] = (uint8_t)strlen(session);
    memcpy(p + 2, session, p[1]);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return buffer;
}

/* Returns the bytes of the answer; 0: it failed, which is printed. */
static size_t call_once(grpc_channel *channel, grpc_completion_queue *cq, grpc_byte_buffer *request)
{
    grpc_slice method =
        grpc_slice_from_static_string("/cuvis_ai.v1.CuvisAIService/GetProfilingSummary");
    grpc_call *call = grpc_channel_create_call(channel, NULL, GRPC_PROPAGATE_DEFAULTS, cq, method,
                                               NULL, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
    grpc_metadata_array initial, trailing;
    grpc_byte_buffer *answer = NULL;
    grpc_status_code status = GRPC_STATUS_UNKNOWN;
    grpc_slice details = grpc_empty_slice();
    grpc_metadata_array_init(&initial);
    grpc_metadata_array_init(&trailing);
    grpc_op ops[6] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA},  {.op = GRPC_OP_SEND_MESSAGE},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT}, {.op = GRPC_OP_RECV_INITIAL_METADATA},
        {.op = GRPC_OP_RECV_MESSAGE},           {.op = GRPC_OP_RECV_STATUS_ON_CLIENT}};
    grpc_byte_buffer *sent = grpc_byte_buffer_copy(request); /* the core empties what it sends */
    ops[1].data.send_message.send_message = sent;
    ops[3].data.recv_initial_metadata.recv_initial_metadata = &initial;
    ops[4].data.recv_message.recv_message = &answer;
    ops[5].data.recv_status_on_client.trailing_metadata = &trailing;
    ops[5].data.recv_status_on_client.status = &status;
    ops[5].data.recv_status_on_client.status_details = &details;
    grpc_call_start_batch(call, ops, 6, call, NULL);
    grpc_completion_queue_pluck(cq, call, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
    size_t bytes = status == GRPC_STATUS_OK && answer ? grpc_byte_buffer_length(answer) : 0;
    if (!bytes)
        fprintf(stderr, "serve_client: status %d: %.*s\n", (int)status,
                (int)GRPC_SLICE_LENGTH(details), (const char *)GRPC_SLICE_START_PTR(details));
    grpc_byte_buffer_destroy(answer);
    grpc_byte_buffer_destroy(sent);
    grpc_slice_unref(details);
    grpc_metadata_array_destroy(&initial);
    grpc_metadata_array_destroy(&trailing);
    grpc_call_unref(call);
    return bytes;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void print(uint64_t *ns, size_t n, size_t bytes)
{
    qsort(ns, n, sizeof *ns, by_size);
    printf("%.1f %.1f %.1f %zu\n", (double)ns[n / 2] / 1e3, (double)ns[n / 4] / 1e3,
           (double)ns[n * 3 / 4] / 1e3, bytes);
}

int main(int argc, char **argv)
{
    size_t n = argc > 3 ? strtoul(argv[1], NULL, 10) : 0;
    int servers = argc - 3;
    grpc_channel *channels[SERVERS_MAX];
    uint64_t *ns[SERVERS_MAX];
    size_t bytes[SERVERS_MAX] = {0};
    if (n == 0 || servers > SERVERS_MAX) {
        fprintf(stderr, "serve_client CALLS SESSION ADDRESS...\n");
        return 2;
    }
    grpc_init();
    grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
    grpc_completion_queue *cq = grpc_completion_queue_create_for_pluck(NULL);
    grpc_byte_buffer *request = request_for(argv[2]);
    for (int i = 0; i < servers; i++) {
        channels[i] = grpc_channel_create(argv[3 + i], credentials, NULL);
        ns[i] = calloc(n, sizeof **ns);
        if (!ns[i])
            return 1;
    }
    for (size_t k = 0; k < n + WARM_UP; k++)
        for (int i = 0; i < servers; i++) {
            uint64_t begin = now_ns();
            bytes[i] = call_once(channels[i], cq, request);
            if (!bytes[i])
                return 1;
            if (k >= WARM_UP)
                ns[i][k - WARM_UP] = now_ns() - begin;
        }
    for (int i = 0; i < servers; i++) {
        print(ns[i], n, bytes[i]);
        grpc_channel_destroy(channels[i]);
        free(ns[i]);
    }
    grpc_byte_buffer_destroy(request);
    grpc_channel_credentials_release(credentials);
    grpc_completion_queue_shutdown(cq);
    grpc_completion_queue_destroy(cq);
    grpc_shutdown_blocking();
    return 0;
}
