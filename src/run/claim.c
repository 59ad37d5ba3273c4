/* Who may write checkpoints into a folder. The lock is taken first, then the folder is looked at:
 * so two runs that start together do not both find it empty. The file is removed when the folder is
 * given back; a process that opened it before that finds out by its number (inode), and tries
 * again. */
#include "run/claim.h"

#include "run/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_HOLDER = 4096 }; /* bytes of the lock that are read */

const char *pl_claim_name_run(pl_arena *arena)
{
    unsigned long long bits = 0;
    struct timespec now;
    if (getrandom(&bits, sizeof bits, 0) == (ssize_t)sizeof bits)
        return pl_arena_fmt(arena, "%016llx", bits);
    clock_gettime(CLOCK_REALTIME, &now); /* no such call here: a process has one life at a time */
    return pl_arena_fmt(arena, "%08llx%08x", (unsigned long long)now.tv_sec,
                        (unsigned)now.tv_nsec ^ (unsigned)getpid());
}

/* -- the lock ---------------------------------------------------------------------------------- */

static bool refuse_held(const pl_claim_want *want, const char *lock, pl_arena *arena, pl_err *err)
{
    const char *who = "";
    size_t n = 0;
    pl_err none = { 0 };
    if (!pl_file_read(lock, MOST_HOLDER, arena, &who, &n, &none)) n = 0;
    n = n ? strcspn(who, "\n") : 0;
    return pl_err_set(err, PL_EINPUT,
                      "another run is saving in %s: %.*s; wait for its end, stop it, or give "
                      "another folder",
                      want->dir, (int)(n ? n : 17), n ? who : "a process unknown");
}

/* Is the file that is open still the one of that name? */
static bool is_current(int fd, const char *path)
{
    struct stat mine, there;
    return !fstat(fd, &mine) && !stat(path, &there) && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev;
}

static void write_holder(int fd, pl_arena *arena)
{
    char host[256] = "";
    if (gethostname(host, sizeof host - 1)) strcpy(host, "a host unknown");
    const char *text = pl_arena_fmt(arena, "process %lld on %s\n", (long long)getpid(), host);
    /* The text only serves a message: a full disk is told of when a checkpoint does not fit. */
    if (ftruncate(fd, 0) || write(fd, text, strlen(text)) < 0) return;
}

static bool take_lock(const pl_claim_want *want, pl_arena *arena, pl_claim *claim, pl_err *err)
{
    const char *path = pl_file_join(arena, want->dir, PL_CLAIM_LOCK);
    for (;;) {
        claim->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (claim->fd < 0)
            return pl_err_set(err, PL_EINPUT, "%s: cannot write checkpoints there: %s", want->dir,
                              strerror(errno));
        int rc = flock(claim->fd, LOCK_EX | LOCK_NB) ? errno : 0;
        if (!rc && is_current(claim->fd, path)) break;
        if (rc && rc != EWOULDBLOCK && rc != EINTR) {
            claim->unlocked = true;
            break;
        }
        close(claim->fd);
        if (rc == EWOULDBLOCK) return refuse_held(want, path, arena, err);
    }
    claim->lock = path;
    write_holder(claim->fd, arena);
    return true;
}

void pl_claim_release(pl_claim *claim)
{
    if (!claim->lock) return;
    unlink(claim->lock); /* before it is unlocked: nobody else's file is removed */
    close(claim->fd);
    *claim = (pl_claim){ 0 };
}

/* -- what the folder holds --------------------------------------------------------------------- */

typedef struct contents {
    int n;            /* manifests                                      */
    int64_t newest;   /* the step that `latest` names, else the largest */
    const char *half; /* a file of tensors, when there is no manifest   */
} contents;

static bool look(const char *dir, pl_arena *arena, contents *out, pl_err *err)
{
    int n = 0;
    const char **name = NULL, *latest = NULL;
    pl_err none = { 0 };
    pl_folder_entry e;
    PL_TRY(pl_file_list(dir, arena, &n, &name, err));
    for (int i = 0; i < n; i++) {
        if (!pl_folder_parse(name[i], arena, &e) || e.is_temp) continue;
        if (!e.is_manifest) {
            out->half = name[i];
            continue;
        }
        out->n++;
        if (e.step > out->newest) out->newest = e.step;
    }
    if (out->n && pl_folder_latest(dir, arena, &latest, &none) &&
        pl_folder_parse(latest, arena, &e))
        out->newest = e.step;
    return true;
}

/* Does the path of a checkpoint, a folder or a manifest, lie in the folder `dir`? */
static bool is_in(const char *path, const char *dir, pl_arena *arena)
{
    struct stat mine, there;
    if (stat(path, &there)) return false;
    if (!S_ISDIR(there.st_mode) && stat(dirname(pl_arena_text(arena, path)), &there)) return false;
    return !stat(dir, &mine) && mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

static bool check_contents(const pl_claim_want *want, bool same_run, pl_arena *arena, pl_err *err)
{
    contents c = { 0 };
    if (same_run || want->overwrite) return true;
    PL_TRY(look(want->dir, arena, &c, err));
    if (!c.n && !c.half) return true;
    if (!c.n)
        return pl_err_set(err, PL_EINPUT,
                          "%s holds %s without its manifest: --overwrite begins anew, or give "
                          "another folder",
                          want->dir, c.half);
    const char *many =
        c.n > 1 ? pl_arena_fmt(arena, "%d checkpoints, the newest", c.n) : "a checkpoint";
    if (want->resume)
        return pl_err_set(err, PL_EINPUT,
                          "%s holds %s of step %lld, of another run than %s: --overwrite replaces "
                          "it, or give another folder",
                          want->dir, many, (long long)c.newest, want->resume);
    return pl_err_set(err, PL_EINPUT,
                      "%s holds %s of step %lld, of another run: --resume %s goes on with it, "
                      "--overwrite begins anew, or give another folder",
                      want->dir, many, (long long)c.newest, want->dir);
}

bool pl_claim_take(const pl_claim_want *want, pl_arena *arena, pl_claim *out, pl_err *err)
{
    pl_claim claim = { .same_run = want->resume && is_in(want->resume, want->dir, arena) };
    *out = (pl_claim){ 0 };
    PL_TRY(take_lock(want, arena, &claim, err));
    *out = claim;
    if (check_contents(want, claim.same_run, arena, err)) return true;
    pl_claim_release(out);
    return false;
}
