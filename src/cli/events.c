/* An event file is a TFRecord file. A record is: the length of its message (8 bytes), the checksum
 * of these 8 bytes (4 bytes), the message (cli/event.proto), and its checksum (4 bytes); integers
 * are little-endian. The first message has the version of the format, and no numbers.
 * Sources: tensorflow/core/lib/io/record_writer.h, tensorflow/core/util/events_writer.cc. */
#include "cli/events.h"

#include "base/crc.h"
#include "base/file.h"
#include "cli/event.pb-c.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of a message: PL_EVENTS_MOST values with tags of 64 bytes, and more. */
enum { MOST_BYTES = 1024 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void put_number(uint8_t *to, int n_bytes, uint64_t x)
{
    for (int i = 0; i < n_bytes; i++) to[i] = (uint8_t)(x >> 8 * i);
}

/* Masked as record_writer.h does it: a checksum of data that holds checksums is a weak one. */
static void put_checksum(uint8_t *to, const uint8_t *data, size_t n)
{
    const uint32_t crc = pl_crc_castagnoli(data, n);
    put_number(to, 4, (uint32_t)((crc >> 15 | crc << 17) + 0xa282ead8u));
}

/* A record that is cut off would make all after it unreadable: so it goes. */
static bool write_whole(int fd, const uint8_t *data, size_t n)
{
    const off_t end = lseek(fd, 0, SEEK_END);
    for (size_t done = 0; done < n;) {
        const ssize_t k = write(fd, data + done, n - done);
        if (k < 0 && errno != EINTR) {
            const int why = errno;
            (void)!ftruncate(fd, end);
            errno = why;
            return false;
        }
        if (k > 0) done += (size_t)k;
    }
    return true;
}

static bool add_record(const pl_events *s, Tensorboard__Event *e)
{
    uint8_t record[12 + MOST_BYTES + 4];
    e->wall_time = now();
    const size_t n = tensorboard__event__get_packed_size(e);
    PL_ASSERT_CMP(n, <=, MOST_BYTES);
    put_number(record, 8, n);
    put_checksum(record + 8, record, 8);
    tensorboard__event__pack(e, record + 12);
    put_checksum(record + 12 + n, record + 12, n);
    return write_whole(s->fd, record, 12 + n + 4);
}

static bool refuse(const char *path, pl_err *err)
{
    return pl_err_set(err, PL_EINPUT, "--tensorboard %s: cannot write: %s; %s", path,
                      strerror(errno),
                      errno == ENOENT ? "create its parent first" : "give another folder");
}

bool pl_events_check(const char *folder, pl_err *err)
{
    struct stat s;
    const bool is_there = !stat(folder, &s);
    if (is_there && !S_ISDIR(s.st_mode))
        return pl_err_set(err, PL_EINPUT,
                          "--tensorboard %s: not a folder; give one for event files", folder);
    if (!is_there && errno != ENOENT) return refuse(folder, err);
    pl_arena *tmp = pl_arena_new("parent folder");
    const char *parent = dirname(pl_arena_text(tmp, folder));
    const bool ok = !access(is_there ? folder : parent, W_OK | X_OK) || refuse(folder, err);
    pl_arena_free(tmp);
    return ok;
}

bool pl_events_open(const char *folder, bool resume, pl_arena *a, pl_events *out, pl_err *err)
{
    char host[256] = "";
    Tensorboard__Event version = TENSORBOARD__EVENT__INIT;
    version.file_version = (char *)(uintptr_t) "brain.Event:2";
    if (gethostname(host, sizeof host - 1)) strcpy(host, "unknown");
    const char *name = pl_arena_fmt(a, "events.out.tfevents.%010lld.%s.%d.pleat",
                                    (long long)time(NULL), host, (int)getpid());
    if (mkdir(folder, 0777) && errno != EEXIST) return refuse(folder, err);
    *out = (pl_events){ .path = pl_file_join(a, folder, name), .resumed = resume };
    out->fd = open(out->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (out->fd >= 0 && add_record(out, &version)) return true;
    refuse(out->path, err);
    if (out->fd >= 0) unlink(out->path);
    pl_events_close(out);
    return false;
}

void pl_events_close(pl_events *s)
{
    if (s->path && s->fd >= 0) close(s->fd);
    *s = (pl_events){ 0 };
}

static bool add_start(pl_events *s, int64_t step)
{
    Tensorboard__SessionLog log = TENSORBOARD__SESSION_LOG__INIT;
    Tensorboard__Event e = TENSORBOARD__EVENT__INIT;
    log.status = TENSORBOARD__SESSION_LOG__SESSION_STATUS__START;
    e.has_step = true;
    e.step = step;
    e.session_log = &log;
    s->resumed = !add_record(s, &e);
    return !s->resumed;
}

void pl_events_add(pl_events *s, int64_t step, int n, const pl_events_value value[])
{
    Tensorboard__Summary__Value row[PL_EVENTS_MOST], *rows[PL_EVENTS_MOST];
    Tensorboard__Summary summary = TENSORBOARD__SUMMARY__INIT;
    Tensorboard__Event e = TENSORBOARD__EVENT__INIT;
    PL_ASSERT_CMP(n, <=, PL_EVENTS_MOST);
    for (int i = 0; i < n; i++) {
        tensorboard__summary__value__init(rows[i] = &row[i]);
        row[i].tag = (char *)(uintptr_t)value[i].tag;
        row[i].simple_value = (float)value[i].value;
    }
    summary.n_value = (size_t)n;
    summary.value = rows;
    e.has_step = true;
    e.step = step;
    e.summary = &summary;
    if (((!s->resumed || add_start(s, step)) && add_record(s, &e)) || s->failed) return;
    fprintf(stderr, "%s: cannot write: %s; the run goes on\n", s->path, strerror(errno));
    s->failed = true;
}
