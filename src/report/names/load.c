/* load.c: reads the table of predecessors' names from the data file that is installed next to
 * plumb.
 *
 * A line begins with '#', or is an entry of seven columns separated by tabs. The first line names
 * the format; the last one marks the end, so that a cut file is noticed. Entries point into the
 * text. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "read/file/special_file.h"
#include "report/names/names.h"

enum { COLUMNS = 7, FILE_MAX = 4 << 20, CHUNK = 1 << 16 };
static const char first_line[] = "# plumb predecessors 1";
static const char last_line[] = "# end";

struct plumb_predecessors {
    struct plumb_buf text; /* its lines and columns end with NUL */
    struct plumb_predecessor *entries;
    size_t count;
};

const struct plumb_predecessor *plumb_predecessors_all(const struct plumb_predecessors *t,
                                                       size_t *n)
{
    *n = t->count;
    return t->entries;
}

/* Whether it is a row of docs/rows.md, as "FV-20". */
static bool is_row(const char *row)
{
    struct plumb_predecessor p = {.row = row};
    size_t digits = strlen(row) > 3 ? strspn(row + 3, "0123456789") : 0;
    return plumb_predecessor_system(&p)[0] && row[2] == '-' && digits > 0 && !row[3 + digits];
}

/* Cuts the line into its columns. NULL: it is an entry; otherwise what is wrong with it. */
static const char *read_entry(struct plumb_predecessor *out, char *line)
{
    char *column[COLUMNS];
    size_t n = 0;
    for (char *at = line; at; n++) {
        if (n < COLUMNS)
            column[n] = at;
        if ((at = strchr(at, '\t')))
            *at++ = '\0';
    }
    if (n != COLUMNS)
        return "there are not seven columns";
    *out = (struct plumb_predecessor){
        .row = column[0], .name = column[3], .plumb = column[4], .remark = column[6]};
    if (!is_row(out->row))
        return "the row is unknown";
    if (!*out->name || !*out->remark)
        return "the name or the remark is empty";
    if (!plumb_predecessor_words(out, column[1], column[2], column[5]))
        return "the kind, the meaning of the value or the status is unknown";
    return NULL;
}

static int damaged(const char *path, size_t line, const char *why, plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is damaged: line %zu: %s; reinstall plumb", path,
                      line, why);
}

static int read_lines(struct plumb_predecessors *t, const char *path, plumb_error *err)
{
    bool whole = false;
    size_t number = 0;
    for (char *line = t->text.data, *next; line; line = next) {
        if ((next = strchr(line, '\n')))
            *next++ = '\0';
        if (++number == 1 && strcmp(line, first_line) != 0)
            return damaged(path, number, "it is not a table of names of this plumb", err);
        whole = whole || strcmp(line, last_line) == 0;
        if (*line == '#' || !*line)
            continue;
        const char *wrong = read_entry(&t->entries[t->count++], line);
        if (wrong)
            return damaged(path, number, wrong, err);
    }
    return whole ? PLUMB_OK : damaged(path, number, "the end is missing", err);
}

int plumb_predecessors_parse(struct plumb_predecessors **out, const char *text, size_t size,
                             const char *path, plumb_error *err)
{
    struct plumb_predecessors *t = calloc(1, sizeof *t);
    size_t lines = 1;
    int rc;
    if (!t)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    plumb_buf_append(&t->text, text, size);
    plumb_buf_char(&t->text, '\0');
    t->entries = calloc(lines, sizeof *t->entries);
    if (t->text.failed || !t->entries)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    else
        rc = read_lines(t, path, err);
    if (rc == PLUMB_OK) {
        *out = t;
        t = NULL;
    }
    plumb_predecessors_close(t);
    return rc;
}

static int read_file(struct plumb_buf *text, int fd, const char *path, plumb_error *err)
{
    char chunk[CHUNK];
    ssize_t n;
    while ((n = read(fd, chunk, sizeof chunk)) > 0 && text->len <= FILE_MAX)
        plumb_buf_append(text, chunk, (size_t)n);
    if (n < 0)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    if (text->failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    if (n > 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is damaged: it is too large", path);
    return PLUMB_OK;
}

int plumb_predecessors_open(struct plumb_predecessors **out, const char *path, plumb_error *err)
{
    struct plumb_buf text = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc;
    if (fd < 0)
        return plumb_fail(err, errno == ENOENT ? PLUMB_ERR_NOT_FOUND : PLUMB_ERR_IO,
                          "cannot read the names of other profilers, '%s': %s; reinstall plumb",
                          path, strerror(errno));
    rc = plumb_file_ends(fd, path, err);
    if (rc == PLUMB_OK)
        rc = read_file(&text, fd, path, err);
    if (rc == PLUMB_OK)
        rc = plumb_predecessors_parse(out, text.data ? text.data : "", text.len, path, err);
    close(fd);
    plumb_buf_fini(&text);
    return rc;
}

void plumb_predecessors_close(struct plumb_predecessors *t)
{
    if (!t)
        return;
    plumb_buf_fini(&t->text);
    free(t->entries);
    free(t);
}
