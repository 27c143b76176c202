/* pending.c: the memory in which records wait (tensor/pending.h). If possible it is mapped from a
 * file next to that of the records, so a killed process loses none of them.
 *
 * Its address range is reserved once and kept: a thread that is held up in a call, or that
 * continues in a forked child, may write there after the file has been unmapped. The file's blocks
 * are allocated before it is mapped, because a hole on a full disk is a SIGBUS in the host. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/new_file.h"
#include "base/pages.h"
#include "base/process/process.h"
#include "base/quiet_write.h"
#include "record/activation/activation.h"
#include "record/runtime/runtime.h"

static struct plumb_pending *place;
static char name[PLUMB_SETTINGS_PATH + 80]; /* "": it has no file */

static bool make_file(const char *path)
{
    struct plumb_quiet quiet;
    void *at = MAP_FAILED;
    int fd, code;
    if (snprintf(name, sizeof name, "%s.pending", path) >= (int)sizeof name)
        return false;
    fd = plumb_new_file_again(name, O_RDWR, 0600); /* replaces one of an earlier run */
    if (fd < 0)
        return false;
    plumb_quiet_begin(&quiet);
    code = posix_fallocate(fd, 0, PLUMB_PENDING_BYTES);
    plumb_quiet_end(&quiet);
    if (code == 0)
        at =
            mmap(place, PLUMB_PENDING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        unlink(name);
    return at != MAP_FAILED;
}

static void forget_file(void)
{
    name[0] = '\0';
    if (place)
        mmap(place, PLUMB_PENDING_BYTES, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

struct plumb_pending *plumb_act_pending_open(const char *path, bool with_file)
{
    if (!place && !(place = plumb_pages_map(PLUMB_PENDING_BYTES)))
        return NULL;
    if (!with_file || !make_file(path))
        forget_file();
    place->version = PLUMB_PENDING_VERSION;
    place->record_bytes = sizeof(struct plumb_act_record);
    place->pid = plumb_rt.pid;
    place->process_start = plumb_process_start(plumb_rt.pid);
    place->rank = plumb_rank_or_0();
    place->columns = plumb_act.columns;
    memcpy(place->magic, PLUMB_PENDING_MAGIC, sizeof place->magic);
    return place;
}

void plumb_act_pending_close(void)
{
    if (name[0])
        unlink(name);
    forget_file();
}

void plumb_act_pending_forked(void)
{
    forget_file();
}
