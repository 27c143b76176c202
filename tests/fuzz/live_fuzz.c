/* Fuzz target: a live mapping that was damaged, as `plumb recover` may find it.
 *
 * The input is not the mapping, whose layout changes with the code, but what happens to one: a list
 * of 12-byte patches (offset, then the value stored there) applied to the mapping of a run that
 * this program records itself; an odd number of bytes at the end cuts the file. Such inputs stay
 * meaningful when the layout changes, and a few bytes reach deep.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <plumb/fake.h>
#include <plumb/plumb.h>

#include "live/read.h"
#include "live/signature_live.h"
#include "read/run/live_watch.h"
#include "tensor/dl_tensor.h"

enum { PATCH_BYTES = 12, RUN_STEPS = 100 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned char *sound; /* the mapping of the recorded run */
static unsigned char *damaged;
static size_t mapping_bytes;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void work(int depth)
{
    PLUMB_SPAN("work");
    plumb_counter_add("calls", 1);
    if (depth > 0)
        work(depth - 1);
}

static void call_stage(int step)
{
    int64_t shape[2] = {step % 3, 4};
    struct plumb_dl_tensor tensor = {.device = {PLUMB_DL_CPU, 0},
                                     .ndim = 2,
                                     .dtype = {PLUMB_DTYPE_FLOAT, 32, 1},
                                     .shape = shape};
    plumb_value list[2] = {plumb_value_tensor(&tensor), plumb_value_str("text")};
    PLUMB_STAGE(stage, "stage");
    plumb_stage_input_value(stage, "list", plumb_value_list(list, 2));
    plumb_stage_output(stage, "tensor", &tensor);
    plumb_stage_metadata(stage, "step", plumb_value_i64(step));
}

/* Work on a device: lanes, clocks, waits, and the figures of a request. */
static void call_device(void)
{
    plumb_request request = plumb_request_begin("device", NULL);
    plumb_collector_status status = {.size = sizeof status};
    uint64_t last = 0;
    {
        PLUMB_STAGE(launches, "launches");
        for (int i = 0; i < 8; i++)
            last = plumb_fake_enqueue(0, (uint32_t)i % 2, "kernel", 1000);
    }
    {
        PLUMB_STAGE(waits, "waits");
        plumb_fake_wait(last);
    }
    plumb_request_end(request);
    /* Completed work is reported by threads of the device, so wait for them. */
    for (int i = 0; last && status.emitted < 9; i++) {
        plumb_collector_status_get(&status, plumb_collector_find("fake"));
        if (i == 100000000)
            die("the device reports nothing");
    }
    if (!last)
        die("the device does not run");
}

static void read_mapping(const char *dir)
{
    char path[512];
    struct stat st;
    int fd;

    snprintf(path, sizeof path, "%s/live.plumb", dir);
    if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0 || fstat(fd, &st) < 0)
        die(path);
    mapping_bytes = (size_t)st.st_size;
    sound = malloc(mapping_bytes);
    damaged = malloc(mapping_bytes);
    if (!sound || !damaged || read(fd, sound, mapping_bytes) != (ssize_t)mapping_bytes)
        die(path);
    close(fd);
}

/* Records spans, phases, steps, failures and counts, and keeps the mapping as it is with two spans
 * open: what is left of a process that was killed there. */
static void record(void)
{
    char dir[] = "/tmp/plumb-fuzz-XXXXXX", run[sizeof dir + 4], command[sizeof dir + 8];
    plumb_options options = plumb_options_default();
    plumb_error err;

    if (!mkdtemp(dir))
        die("mkdtemp");
    snprintf(run, sizeof run, "%s/run", dir);
    options.run_dir = run;
    options.quiet = PLUMB_ON;
    options.max_state_bytes = 4 << 20;
    options.max_nodes = 16;
    options.collect = "fake:queues=2:threads=1";
    if (plumb_start(&options, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    {
        PLUMB_PHASE("val");
        PLUMB_SPAN("outer");
        PLUMB_SPAN_AS(failing, "failing");
        for (PLUMB_STEPS (step, RUN_STEPS))
            work(step % 3);
        for (PLUMB_STEPS (step, 7))
            call_stage(step);
        call_device();
        plumb_span_fail(failing, "on purpose");
        plumb_record_ns(plumb_node_get("elsewhere"), 1000);
        read_mapping(run);
    }
    plumb_stop(NULL);
    snprintf(command, sizeof command, "rm -r %s", dir);
    if (system(command) != 0)
        die(command);
}

/* Applies the patches to a fresh copy; returns how many bytes of it are left. */
static size_t damage(const uint8_t *data, size_t size)
{
    size_t left = mapping_bytes;

    memcpy(damaged, sound, mapping_bytes);
    for (; size >= PATCH_BYTES; data += PATCH_BYTES, size -= PATCH_BYTES) {
        uint32_t offset;
        memcpy(&offset, data, sizeof offset);
        offset %= (uint32_t)mapping_bytes - 8;
        memcpy(damaged + offset - offset % 4, data + 4, 8);
    }
    if (size >= 4) {
        uint32_t cut;
        memcpy(&cut, data, sizeof cut);
        left = cut % mapping_bytes;
    }
    return left;
}

/* Signatures that are read can be written, and the sound mapping has some. */
static void read_signatures(const unsigned char *base, size_t bytes, int is_sound)
{
    struct plumb_signature s;
    struct plumb_buf text = {0};
    plumb_error err = {0, ""};
    int rc;

    plumb_signature_init(&s);
    rc = plumb_live_to_signature(&s, base, bytes, &err);
    if (rc == PLUMB_OK && plumb_signature_write(&s, &text, &err) < 0)
        abort();
    if (is_sound && (rc < 0 || s.stage_count != 1 || s.stages[0].distinct_count != 3))
        abort();
    plumb_buf_fini(&text);
    plumb_signature_fini(&s);
}

/* The same file as a process might be writing it: read object by object (read/run/live_watch.h). */
static void watch(const unsigned char *base, size_t bytes, int is_sound)
{
    struct plumb_live_watch w = {.path = "memory"};
    struct plumb_live_moment moment;
    struct plumb_timing timing;
    int rc, fd = memfd_create("mapping", MFD_CLOEXEC);

    if (fd < 0 || write(fd, base, bytes) != (ssize_t)bytes)
        die("memfd");
    plumb_live_image_init(&w.image, fd);
    plumb_timing_init(&timing);
    rc = plumb_live_image_begin(&w.image, NULL); /* as opening does */
    if (rc == PLUMB_OK)
        rc = plumb_live_watch_read(&w, &timing, &moment, NULL);
    if (is_sound && rc < 0)
        abort();
    plumb_timing_fini(&timing);
    plumb_live_watch_close(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plumb_timing timing;
    unsigned char *exact;
    size_t left;
    plumb_error err;

    if (!sound)
        record();
    left = damage(data, size);
    /* A mapping has its size rounded to pages; a copy of exactly this size lets a sanitizer see the
     * first byte read beyond it. */
    if (!(exact = malloc(left ? left : 1)))
        die("malloc");
    memcpy(exact, damaged, left);
    watch(exact, left, size == 0);
    plumb_timing_init(&timing);
    if (plumb_live_to_timing(&timing, exact, left, NULL, &err) < 0 && size == 0) {
        fprintf(stderr, "the sound mapping: %s\n", err.message);
        abort();
    }
    plumb_timing_fini(&timing);
    read_signatures(exact, left, size == 0);
    free(exact);
    return 0;
}
