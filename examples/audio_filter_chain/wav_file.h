/* Audio files, through libsndfile: WAV, and whatever else it reads. */
#ifndef AUDIO_FILTER_CHAIN_WAV_FILE_H
#define AUDIO_FILTER_CHAIN_WAV_FILE_H

#include "wave.h"

enum { WAV_ERROR_BYTES = 256 };

/* Opens `w` with the samples of a file, as `type`. Returns 0, or -1 with `error` filled;
 * wave_close() is called in both cases. */
int wav_read(struct wave *w, const char *path, enum iir_type type, char error[WAV_ERROR_BYTES]);

/* Writes the samples as they were last computed, 32-bit floats or doubles. Returns 0, or -1 with
 * `error` filled. */
int wav_write(const struct wave *w, const char *path, char error[WAV_ERROR_BYTES]);

#endif
