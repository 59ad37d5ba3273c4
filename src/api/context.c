/* Contexts: the owner of everything that a program makes with the library, and its last error. */
#include "api/context.h"

#include <locale.h>
#include <string.h>

#define TEXT_OF(x) #x
#define VERSION(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *pl_version(void)
{
    return VERSION(PL_VERSION_MAJOR, PL_VERSION_MINOR, PL_VERSION_PATCH);
}

pl_context *pl_context_new(void)
{
    pl_arena *arena = pl_arena_new("context");
    pl_context *c = PL_NEW(arena, pl_context);
    c->arena = arena;
    return c;
}

void pl_context_free(pl_context *c)
{
    if (!c) return;
    while (c->runs) pl_run_free(c->runs);
    pl_arena_free(c->arena);
}

const char *pl_context_error(const pl_context *c)
{
    return c->err.msg;
}

pl_code pl_context_code(const pl_context *c)
{
    return c->err.code;
}

void pl_context_watch(pl_context *c, void (*see)(void *self, const char *what, int i, int n),
                      void *self)
{
    c->watch = (pl_watch){ see, self };
}

pl_err *pl_context_begin(pl_context *c)
{
    c->err = (pl_err){ 0 };
    return &c->err;
}

bool pl_context_ready(pl_context *c, pl_err **err)
{
    const char *point = localeconv()->decimal_point;
    *err = pl_context_begin(c);
    return !strcmp(point, ".") ||
           pl_err_set(*err, PL_EUNSUPPORTED,
                      "numbers have a '%s' in the locale of this process, and a '.' in what pleat "
                      "reads and writes: call setlocale(LC_NUMERIC, \"C\") before",
                      point);
}

bool pl_context_options(const void *given, const char *type, const char *defaults, size_t size,
                        void *out, pl_err *err)
{
    size_t has;
    if (!given) return true;
    memcpy(&has, given, sizeof has);
    if (has < sizeof has || has > size)
        return pl_err_set(err, PL_EUSAGE,
                          "%s: a size of %zu bytes, this library has %zu: begin with %s", type, has,
                          size, defaults);
    memcpy(out, given, has);
    return true;
}
