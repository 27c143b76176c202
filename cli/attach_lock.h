/* attach_lock.h: one plumb attach at a time for a process. */
#ifndef PLUMB_CLI_ATTACH_LOCK_H
#define PLUMB_CLI_ATTACH_LOCK_H

struct plumb_attach_lock {
    int fd;          /* -1: not held */
    char path[4200]; /* of its file */
};

/* Takes the lock of the process whose control socket is `socket`. Returns an exit status, and has
 * said what is wrong. */
int plumb_attach_lock(struct plumb_attach_lock *lock, unsigned pid, const char *socket);
/* Gives it back, if it is held. */
void plumb_attach_unlock(struct plumb_attach_lock *lock);

#endif
