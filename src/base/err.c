/* Sets an error, adds places to it, and aborts on our own mistakes. */
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What stands in a file or a command must not steer a terminal. */
static void tame(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') *text = '?';
}

bool pl_err_set(pl_err *err, pl_code code, const char *fmt, ...)
{
    if (err->code) return false;
    err->code = code;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    tame(err->msg);
    return false;
}

bool pl_err_in(pl_err *err, const char *fmt, ...)
{
    char place[256], old[sizeof err->msg];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(place, sizeof place, fmt, ap);
    va_end(ap);
    tame(place);
    memcpy(old, err->msg, sizeof old);
    size_t n = strlen(place);
    memcpy(err->msg, place, n);
    snprintf(err->msg + n, sizeof err->msg - n, ": %s", old);
    return false;
}

void pl_bug(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "pleat: internal error at %s:%d: ", file, line);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    abort();
}
