/* labels: notsan
 * TF-24: a process that is killed while its captured inputs are written leaves no file that is
 * taken for them: neither the half one, nor a signature that names it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>

#include "record_capture.h"

#include "isolate/source.h"
#include "read/run/load.h"

enum { FLOATS = 8 << 20, KILLS = 3, ATTEMPTS = 100 };
#define FILE_NAME "denoise.inputs.safetensors"

/* Captures, and says when the stage has ended; never returns. */
static void in_the_child(float *data, int out)
{
    struct fixture_tensor t;
    plumb_options options = plumb_options_default();
    options.quiet = PLUMB_ON;
    options.run_dir = capture_dir;
    fixture_tensor(&t, data, "float32", DIMS(FLOATS));
    setenv("PLUMB_CAPTURE", "denoise", 1);
    if (plumb_start(&options, NULL) < 0)
        _exit(1);
    {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input(stage, "x", &t.dl);
    }
    if (write(out, "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

/* The largest file of the folder that is not one of the others' of a run. */
static off_t half_file(void)
{
    char path[1400];
    struct stat st;
    off_t size = 0;
    DIR *d = opendir(capture_dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", capture_dir, e->d_name);
        if (strstr(e->d_name, FILE_NAME) && strcmp(e->d_name, FILE_NAME) != 0 &&
            stat(path, &st) == 0 && st.st_size > size)
            size = st.st_size;
    }
    closedir(d);
    return size;
}

static void made_of(float *data, bool captured)
{
    struct plumb_inputs inputs;
    struct plumb_source source;
    struct plumb_load load;
    const struct plumb_signature_stage *stage;
    struct plumb_inputs_options options = {.mode = PLUMB_INPUTS_CAPTURED, .dir = capture_dir};
    plumb_error err = {0, ""};
    if (plumb_load_run(&load, capture_dir, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(load.state, PLUMB_LOAD_RECOVERED);
    plumb_timing_fini(&load.timing);
    if (plumb_source_open(&source, capture_dir, "plumb-out", &err) < 0 ||
        plumb_source_stage(&stage, &source, "denoise", &err) < 0)
        fail_msg("%s", err.message);
    int rc = plumb_inputs_make(&inputs, stage, &options, &err);
    assert_int_equal(rc, captured ? PLUMB_OK : PLUMB_ERR_NOT_FOUND);
    if (captured)
        assert_memory_equal(inputs.tensors->view.data, data, FLOATS * sizeof *data);
    else
        options.mode = PLUMB_INPUTS_AUTO;
    if (!captured)
        assert_int_equal(plumb_inputs_make(&inputs, stage, &options, &err), PLUMB_OK);
    assert_int_equal(inputs.captured_count, captured);
    plumb_inputs_fini(&inputs);
    plumb_source_close(&source);
}

/* Returns whether the process was killed while the file was half there: it is stopped for a look,
 * so that what is seen is what the kill leaves. */
static bool killed_at_work(float *data, int attempt)
{
    off_t size = 0, whole = FLOATS * (off_t)sizeof *data;
    int tube[2], status;
    char byte;
    pid_t pid;
    snprintf(capture_dir, sizeof capture_dir, "killed-%d", attempt);
    assert_int_equal(pipe(tube), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        in_the_child(data, tube[1]);
    close(tube[1]);
    assert_int_equal(read(tube[0], &byte, 1), 1);
    while (size == 0 && !capture_has(FILE_NAME))
        size = half_file();
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    size = half_file();
    bool there = capture_has(FILE_NAME);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(tube[0]);
    made_of(data, there);
    record_remove(capture_dir);
    return !there && size > 0 && size < whole;
}

static void half_a_file_is_never_taken_for_a_capture(void **state)
{
    float *data = calloc(FLOATS, sizeof *data);
    int halves = 0;
    (void)state;
    assert_non_null(data);
    for (int i = 0; i < FLOATS; i++)
        data[i] = (float)i;
    for (int i = 0; i < ATTEMPTS && halves < KILLS; i++)
        halves += killed_at_work(data, i);
    assert_int_equal(halves, KILLS);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_a_file_is_never_taken_for_a_capture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
