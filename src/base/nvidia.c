/* nvidia.c: see nvidia.h. No state. */
#include "base/nvidia.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* nvidiactl is there wherever the driver is loaded, with a GPU or without. */
static bool is_gpu(const char *name)
{
    static const char *const others[] = {"nvhost-gpu", "nvgpu", "dxg"};
    if (strncmp(name, "nvidia", 6) == 0)
        return name[6] && name[6 + strspn(name + 6, "0123456789")] == '\0';
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(name, others[i]) == 0)
            return true;
    return false;
}

bool plumb_nvidia_is_there(const char *dev, const char *visible)
{
    int saved = errno;
    bool found = false;
    DIR *dir = NULL;
    if (!visible || (*visible && strncmp(visible, "-1", 2) != 0))
        dir = opendir(dev);
    for (struct dirent *e; dir && !found && (e = readdir(dir));) {
        struct stat st;
        found = is_gpu(e->d_name) && fstatat(dirfd(dir), e->d_name, &st, 0) == 0 &&
                !S_ISREG(st.st_mode); /* nvgpu is a folder */
    }
    if (dir)
        closedir(dir);
    errno = saved;
    return found;
}
