/* Folders of checkpoints, for the tests of jobs: after <cmocka.h>. */
#ifndef FOLDERS_H
#define FOLDERS_H
#include "base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline void remove_folder(const char *dir)
{
    pl_arena *a = pl_arena_new("test");
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') unlink(pl_file_join(a, dir, e->d_name));
    if (d) closedir(d);
    rmdir(dir);
    pl_arena_free(a);
}

static inline void check_same_file(const char *a_path, const char *b_path)
{
    pl_arena *a = pl_arena_new("test");
    const char *x, *y;
    size_t n, m;
    pl_err err = { 0 };
    if (!pl_file_read(a_path, 1 << 26, a, &x, &n, &err)) fail_msg("%s", err.msg);
    if (!pl_file_read(b_path, 1 << 26, a, &y, &m, &err)) fail_msg("%s", err.msg);
    if (n != m || memcmp(x, y, n)) fail_msg("%s and %s differ", a_path, b_path);
    pl_arena_free(a);
}

/* They differ in the name of the run alone, which is the only thing that is drawn. */
static inline void check_same_manifest(const char *const path[2])
{
    pl_arena *a = pl_arena_new("test");
    const char *has[2], *run[2], key[] = "\"run\": \"";
    size_t n;
    pl_err err = { 0 };
    for (int i = 0; i < 2; i++) {
        if (!pl_file_read(path[i], 1 << 26, a, &has[i], &n, &err)) fail_msg("%s", err.msg);
        run[i] = strstr(has[i], key) + strlen(key);
    }
    n = (size_t)(run[0] - has[0]);
    assert_memory_equal(has[0], has[1], n);
    assert_memory_not_equal(run[0], run[1], 16);
    assert_string_equal(run[0] + 16, run[1] + 16);
    pl_arena_free(a);
}

#endif
