#include "wav_file.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sndfile.h>

enum {
    CHUNK = 4096, /* frames that are converted at a time */
    CHANNELS_MAX = 64,
    FRAMES_MAX = 1 << 30
};

static int fail(char error[WAV_ERROR_BYTES], const char *path, const char *why)
{
    snprintf(error, WAV_ERROR_BYTES, "%.150s: %.100s", path, why);
    return -1;
}

static int read_samples(struct wave *w, SNDFILE *file, const char *path,
                        char error[WAV_ERROR_BYTES])
{
    double *chunk = malloc(CHUNK * w->channels * sizeof(*chunk));
    size_t frame = 0;
    sf_count_t n = 0;

    if (!chunk)
        return fail(error, path, "out of memory");
    while (frame < w->frames && (n = sf_readf_double(file, chunk, CHUNK)) > 0)
        for (sf_count_t i = 0; i < n && frame < w->frames; i++, frame++)
            for (size_t ch = 0; ch < w->channels; ch++) {
                double x = chunk[(size_t)i * w->channels + ch];
                wave_set(w, ch, frame, isfinite(x) ? x : 0.0);
            }
    free(chunk);
    if (frame < w->frames)
        return fail(error, path, "ends early");
    return 0;
}

int wav_read(struct wave *w, const char *path, enum iir_type type, char error[WAV_ERROR_BYTES])
{
    SF_INFO info = {0};
    SNDFILE *file = sf_open(path, SFM_READ, &info);
    int rc;

    memset(w, 0, sizeof(*w));
    if (!file)
        return fail(error, path, sf_strerror(NULL));
    if (info.frames < 0 || info.frames > FRAMES_MAX || info.channels < 1 ||
        info.channels > CHANNELS_MAX || info.samplerate < 1)
        rc = fail(error, path, "more than 64 channels, 2^30 frames, or no sample rate");
    else if (wave_open(w, type, (size_t)info.channels, (size_t)info.frames, info.samplerate) < 0)
        rc = fail(error, path, "out of memory");
    else
        rc = read_samples(w, file, path, error);
    sf_close(file);
    return rc;
}

static int write_samples(const struct wave *w, SNDFILE *file, const char *path,
                         char error[WAV_ERROR_BYTES])
{
    double *chunk = malloc(CHUNK * w->channels * sizeof(*chunk));

    if (!chunk)
        return fail(error, path, "out of memory");
    for (size_t frame = 0, n; frame < w->frames; frame += n) {
        n = w->frames - frame < CHUNK ? w->frames - frame : CHUNK;
        for (size_t i = 0; i < n; i++)
            for (size_t ch = 0; ch < w->channels; ch++)
                chunk[i * w->channels + ch] = wave_sample(w, ch, frame + i);
        if (sf_writef_double(file, chunk, (sf_count_t)n) != (sf_count_t)n) {
            free(chunk);
            return fail(error, path, sf_strerror(file));
        }
    }
    free(chunk);
    return 0;
}

int wav_write(const struct wave *w, const char *path, char error[WAV_ERROR_BYTES])
{
    SF_INFO info = {.samplerate = (int)w->rate,
                    .channels = (int)w->channels,
                    .format =
                        SF_FORMAT_WAV | (w->type == IIR_F32 ? SF_FORMAT_FLOAT : SF_FORMAT_DOUBLE)};
    SNDFILE *file = sf_open(path, SFM_WRITE, &info);
    int rc;

    if (!file)
        return fail(error, path, sf_strerror(NULL));
    /* The chunk of peaks has the time of day in it: equal samples would give other bytes. */
    sf_command(file, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
    rc = write_samples(w, file, path, error);
    if (sf_close(file) != 0 && rc == 0)
        rc = fail(error, path, "cannot be written to its end");
    return rc;
}
