/* A separable Gaussian blur of pictures in YUV 4:2:0, on an OpenCL device, and the same in plain C.
 * Both compute with the same integers, so their results are equal byte for byte. */
#ifndef OPENCL_BLUR_BLUR_H
#define OPENCL_BLUR_BLUR_H

#include <stddef.h>
#include <stdint.h>

#include <video_nodes/problem.h>

enum { BLUR_RADIUS_MAX = 32, BLUR_PLANES = 3 };

struct blur_shape {
    int width, height; /* of the picture; even */
    int radius;        /* 1 to BLUR_RADIUS_MAX */
};

/* Bytes of a picture: its planes Y, U and V one after the other, without padding. */
size_t blur_picture_bytes(const struct blur_shape *s);

/* A device with the compiled kernels; its functions may be called by any thread. */
struct blur_device;
/* The first device of the first platform. NULL with the reason in `problem`. */
struct blur_device *blur_device_open(const struct blur_shape *s, struct problem *problem);
void blur_device_close(struct blur_device *d); /* NULL is fine */

/* A queue of the device with memory for one picture; for one thread. */
struct blur_job;
struct blur_job *blur_job_open(struct blur_device *d, int out_of_order, struct problem *problem);
void blur_job_close(struct blur_job *j); /* NULL is fine */
/* Enqueues the blur of `in` into `out`, both of blur_picture_bytes(), which must stay until
 * blur_wait(). Returns 0, or -1. */
int blur_launch(struct blur_job *j, const uint8_t *in, uint8_t *out, struct problem *problem);
int blur_wait(struct blur_job *j, struct problem *problem);

/* The same on the calling thread; `scratch` is as large as a picture. */
void blur_reference(const struct blur_shape *s, const uint8_t *in, uint8_t *out, uint8_t *scratch);

/* 2 * radius + 1 weights of 1/65536, whose sum is 65536. */
void blur_weights(int32_t *out, int radius);

/* A plane's place in the picture. */
struct blur_plane {
    int offset, width, height;
};
struct blur_plane blur_plane(const struct blur_shape *s, int plane);

#endif
