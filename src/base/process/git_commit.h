/* git_commit.h: the commit that a folder's repository has checked out, read from the files of the
 * repository: no program is run, nothing is written. */
#ifndef PLUMB_BASE_PROCESS_GIT_COMMIT_H
#define PLUMB_BASE_PROCESS_GIT_COMMIT_H

#include <stdbool.h>

enum { PLUMB_GIT_COMMIT_BYTES = 65 }; /* a SHA-256 in hexadecimal digits and its NUL */

/* Sets `out` to the commit of the repository that `folder`, an absolute path, or a folder above it
 * belongs to; worktrees and submodules have their own. False, and `out` is empty: there is no
 * repository, or no commit that can be read. Reads at most a few MiB; any thread. Keeps errno. */
bool plumb_git_commit(char out[PLUMB_GIT_COMMIT_BYTES], const char *folder);

#endif
