/* pending.c: the end of a file of records whose process was killed. Makes the lines that the
 * process had no time to make (tensor/pending.h) and appends them to the file, once. If the file is
 * not writable, the reader gets them instead. The `seq` of the file's last line shows which records
 * are in it already. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process/process.h"
#include "read/activation/parts.h"
#include "tensor/pending.h"

enum { END = 256 * 1024 };

static bool read_all(int fd, char *to, size_t size, off_t from)
{
    size_t have = 0;
    while (have < size) {
        ssize_t n = pread(fd, to + have, size - have, from + (off_t)have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        have += (size_t)n;
    }
    return true;
}

/* The seq of the last whole line of `fd`; -1: there is none. */
static int64_t last_seq(int fd, off_t size)
{
    size_t n = size < END ? (size_t)size : END;
    char *text = malloc(n + 1);
    int64_t seq = -1;
    if (text && read_all(fd, text, n, size - (off_t)n)) {
        char *end;
        while (n > 0 && text[n - 1] != '\n')
            n--;
        text[n] = '\0';
        for (char *at = text; (at = strstr(at, ",\"seq\":")) != NULL; at += 7)
            seq = strtoll(at + 7, &end, 10);
    }
    free(text);
    return seq;
}

static bool write_end(int fd, off_t size, const struct plumb_buf *lines)
{
    size_t done = 0;
    while (done < lines->len) {
        ssize_t n = pwrite(fd, lines->data + done, lines->len - done, size + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done == lines->len || ftruncate(fd, size) != 0;
}

/* Returns the bytes of `path`; NULL: there is no such file, or its process still runs. */
static void *read_pending(const char *path)
{
    struct plumb_pending *p = NULL;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == PLUMB_PENDING_BYTES &&
        (p = malloc(PLUMB_PENDING_BYTES)) &&
        (!read_all(fd, (char *)p, PLUMB_PENDING_BYTES, 0) ||
         !plumb_process_is_over(p->pid, p->process_start) ||
         !read_all(fd, (char *)p, PLUMB_PENDING_BYTES, 0))) {
        free(p);
        p = NULL;
    }
    close(fd);
    return p;
}

/* `fd` is the file of lines, which is ours to write if `can_write`. */
static void finish(struct plumb_buf *lines, int fd, bool can_write, const char *name,
                   const void *pending)
{
    plumb_error unused;
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    /* If its end is damaged, the lines before the damage count. */
    plumb_pending_lines(lines, pending, PLUMB_PENDING_BYTES, last_seq(fd, st.st_size), &unused);
    if (lines->failed)
        lines->len = 0;
    else if (can_write && write_end(fd, st.st_size, lines)) {
        unlink(name);
        lines->len = 0;
    }
}

void plumb_activations_pending(struct plumb_buf *lines, const char *path)
{
    char *name = malloc(strlen(path) + sizeof ".pending");
    void *pending = NULL;
    bool can_write = true;
    int fd = -1;
    if (!name)
        return;
    strcpy(name, path);
    strcat(name, ".pending");
    if (access(name, F_OK) < 0)
        goto out;
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        can_write = false;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    }
    /* The recorder holds this lock while it writes, and so does another reader that completes the
     * file. */
    if (fd < 0 || (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK))
        goto out;
    pending = read_pending(name);
    if (pending)
        finish(lines, fd, can_write, name, pending);
out:
    free(pending);
    if (fd >= 0)
        close(fd);
    free(name);
}
