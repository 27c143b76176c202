/* store.c: see store.h. The errors of SQLite become one sentence in plumb_store_error(), because a
 * user can act on five of them: locked, full, read-only, damaged, not a database. */
#include "read/history/store_parts.h"

#include "base/error.h"

#if defined(PLUMB_HISTORY)

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Errors ---------------------------------------------------------------------------------- */

int plumb_store_error(const struct plumb_store *s, int rc, const char *doing, plumb_error *err)
{
    int system = s->db ? sqlite3_system_errno(s->db) : 0;
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "cannot %s '%s': another process has had it locked for %.3g s: wait for "
                          "it, or end it",
                          doing, s->path, s->wait_ms / 1e3);
    case SQLITE_FULL:
        return plumb_fail(err, PLUMB_ERR_IO,
                          "cannot %s '%s': the disk is full; the history is as it was", doing,
                          s->path);
    case SQLITE_READONLY:
        return plumb_fail(err, PLUMB_ERR_IO,
                          "cannot %s '%s': the file, or the folder that it lies in, is read-only",
                          doing, s->path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is damaged (%s): move it away, or put a copy in its place", s->path,
                          sqlite3_errstr(rc & 0xff));
    case SQLITE_NOMEM:
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the history '%s'", s->path);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return plumb_fail(err, PLUMB_ERR_IO, "cannot %s '%s': %s", doing, s->path,
                          system ? strerror(system) : sqlite3_errstr(rc));
    default:
        return plumb_fail(err, PLUMB_ERR_IO, "cannot %s '%s': %s", doing, s->path,
                          s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc));
    }
}

static int run_sql(struct plumb_store *s, const char *sql, const char *doing, plumb_error *err)
{
    int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? PLUMB_OK : plumb_store_error(s, rc, doing, err);
}

static int whole_of(struct plumb_store *s, const char *sql, int64_t *out, plumb_error *err)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL);
    if (rc == SQLITE_OK && (rc = sqlite3_step(q)) == SQLITE_ROW)
        *out = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    return rc == SQLITE_ROW ? PLUMB_OK : plumb_store_error(s, rc, "read", err);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static const char schema[] =
    "CREATE TABLE record("
    " id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE,"
    " time_ns INTEGER NOT NULL, added_ns INTEGER NOT NULL,"
    " workload TEXT, variant TEXT, version TEXT, recipe TEXT, hardware TEXT, software TEXT,"
    " label TEXT, device TEXT, commit_id TEXT, branch TEXT, pr TEXT, run_source TEXT NOT NULL,"
    " source TEXT, reason TEXT, environment TEXT, extra TEXT,"
    " success INTEGER NOT NULL, eligible INTEGER NOT NULL, status INTEGER NOT NULL,"
    " baseline INTEGER NOT NULL);"
    "CREATE INDEX record_cohort ON record(workload, variant, version, time_ns);"
    "CREATE INDEX record_time ON record(time_ns);"
    "CREATE TABLE metric("
    " record INTEGER NOT NULL REFERENCES record(id) ON DELETE CASCADE,"
    " place INTEGER NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, value REAL,"
    " higher_is_better INTEGER NOT NULL, gated INTEGER NOT NULL, floor_relative REAL NOT NULL,"
    " floor_absolute REAL NOT NULL, PRIMARY KEY(record, place)) WITHOUT ROWID;";

/* Checks what SQLite would read as an empty database, or not say clearly. `*fresh`: there is no
 * file, or an empty one. */
static int check_file(const struct plumb_store *s, bool write, bool *fresh, plumb_error *err)
{
    struct stat st;
    char magic[16] = "";
    if (!s->path[0])
        return plumb_fail(err, PLUMB_ERR_ARG, "the name of the history is empty");
    *fresh = stat(s->path, &st) < 0 && errno == ENOENT;
    if (*fresh)
        return write
                   ? PLUMB_OK
                   : plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                                "there is no history '%s': 'plumb history add' makes one", s->path);
    int fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : fstat(fd, &st) < 0 ? -1 : 0;
    if (n < 0) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return plumb_fail(err, PLUMB_ERR_IO, "cannot open the history '%s': %s", s->path,
                          strerror(why));
    }
    if (S_ISREG(st.st_mode))
        n = pread(fd, magic, sizeof magic, 0);
    close(fd);
    if (S_ISDIR(st.st_mode))
        return plumb_fail(err, PLUMB_ERR_IO,
                          "'%s' is a folder: name the history's file, as '%s/history.db'", s->path,
                          s->path);
    if (!S_ISREG(st.st_mode))
        return plumb_fail(err, PLUMB_ERR_IO, "'%s' is not a regular file", s->path);
    *fresh = n == 0;
    if (n > 0 && memcmp(magic, "SQLite format 3", sizeof magic) != 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is not a history of plumb: it is not a SQLite file", s->path);
    return PLUMB_OK;
}

/* Makes the folders that the file lies in. */
static int make_folder(const struct plumb_store *s, plumb_error *err)
{
    char folder[4096];
    int n = snprintf(folder, sizeof folder, "%s", s->path);
    if (n >= (int)sizeof folder)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path of the history is too long");
    for (char *slash = folder + 1; *slash && (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(folder, 0777) < 0 && errno != EEXIST)
            return plumb_fail(err, PLUMB_ERR_IO, "cannot make the folder '%s': %s", folder,
                              strerror(errno));
        *slash = '/';
    }
    return PLUMB_OK;
}

static int make_tables(struct plumb_store *s, plumb_error *err)
{
    char marks[96];
    int64_t version = 0;
    snprintf(marks, sizeof marks, "PRAGMA application_id=%d; PRAGMA user_version=%d;",
             PLUMB_STORE_APPLICATION, PLUMB_STORE_SCHEMA);
    int rc = plumb_store_begin(s, err);
    if (rc < 0)
        return rc;
    /* Another process may have made them while this one waited for the lock. */
    rc = whole_of(s, "PRAGMA user_version", &version, err);
    if (rc == PLUMB_OK && version == 0 && (rc = run_sql(s, schema, "write", err)) == PLUMB_OK)
        rc = run_sql(s, marks, "write", err);
    int ended = plumb_store_end(s, rc == PLUMB_OK, err);
    return rc < 0 ? rc : ended;
}

static int check_marks(struct plumb_store *s, plumb_error *err)
{
    int64_t application = 0, version = 0;
    int rc;
    if ((rc = whole_of(s, "PRAGMA application_id", &application, err)) < 0 ||
        (rc = whole_of(s, "PRAGMA user_version", &version, err)) < 0)
        return rc;
    if (application != PLUMB_STORE_APPLICATION)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is not a history of plumb: it is a SQLite file of another program",
                          s->path);
    if (version > PLUMB_STORE_SCHEMA)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' was written by a newer plumb (schema %lld; this one reads up to "
                          "%d): update plumb, or name another file",
                          s->path, (long long)version, PLUMB_STORE_SCHEMA);
    return PLUMB_OK;
}

static int open_db(struct plumb_store *s, bool write, bool fresh, plumb_error *err)
{
    /* Reading wants to write too: it finishes the undoing of what a killed process had begun. */
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (write ? SQLITE_OPEN_CREATE : 0);
    /* Without a folder, SQLite takes ":memory:" and "file:..." for something else than a file. */
    char *name = sqlite3_mprintf("%s%s", s->path[0] == '/' ? "" : "./", s->path);
    int rc = name ? sqlite3_open_v2(name, &s->db, flags, NULL) : SQLITE_NOMEM;
    sqlite3_free(name);
    if (rc != SQLITE_OK)
        return plumb_store_error(s, rc, "open", err);
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_busy_timeout(s->db, (int)s->wait_ms);
    if ((rc = run_sql(s, "PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF;", "open", err)) < 0)
        return rc;
    if (write && sqlite3_db_readonly(s->db, "main") == 1)
        return plumb_store_error(s, SQLITE_READONLY, "write", err);
    if (fresh && !write)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "the history '%s' is empty: no bytes", s->path);
    if (fresh && (rc = make_tables(s, err)) < 0)
        return rc;
    return check_marks(s, err);
}

int plumb_store_open(struct plumb_store **out, const char *path, bool write, uint32_t wait_ms,
                     plumb_error *err)
{
    bool fresh = false;
    int rc;
    struct plumb_store *s = calloc(1, sizeof *s);
    if (!s || !(s->path = strdup(path))) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the history '%s'", path);
        goto out;
    }
    s->wait_ms = wait_ms;
    if ((rc = check_file(s, write, &fresh, err)) < 0 || (fresh && (rc = make_folder(s, err)) < 0) ||
        (rc = open_db(s, write, fresh, err)) < 0)
        goto out;
    *out = s;
    s = NULL;
out:
    plumb_store_close(s);
    return rc;
}

void plumb_store_close(struct plumb_store *s)
{
    if (!s)
        return;
    sqlite3_close(s->db);
    free(s->path);
    free(s);
}

int plumb_store_is_built(plumb_error *err)
{
    (void)err;
    return PLUMB_OK;
}

int plumb_store_begin(struct plumb_store *s, plumb_error *err)
{
    int rc = run_sql(s, "BEGIN IMMEDIATE", "write", err);
    s->begun = rc == PLUMB_OK;
    return rc;
}

int plumb_store_end(struct plumb_store *s, bool good, plumb_error *err)
{
    int rc = good ? run_sql(s, "COMMIT", "write", err) : PLUMB_ERR_STATE;
    if (rc < 0 && s->begun)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* may have happened already */
    s->begun = false;
    return good ? rc : PLUMB_OK;
}

#endif
