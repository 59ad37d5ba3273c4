/* Measured runs from CSV (RFC 4180): columns by name, cells in quotes where they have commas. */
#include "api/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL, CLUSTER, STRATEGY, MEASURED, N_COLUMNS };
static const char *const columns[N_COLUMNS] = { "model", "cluster", "strategy", "measured_s" };

typedef struct reader {
    const char *at, *end, *name;
    int line;
    pl_arena *a;
    pl_err *err;
} reader;

/* The next cell of a line. False at the end of the line, which is behind it then. */
static bool next_cell(reader *r, bool first, const char **cell)
{
    if (!first && (r->at == r->end || *r->at != ',')) return false;
    if (!first) r->at++;
    pl_text t = { .arena = r->a };
    const bool quoted = r->at < r->end && *r->at == '"';
    if (quoted) r->at++;
    for (; r->at < r->end; r->at++) {
        const bool twice = quoted && *r->at == '"' && r->at + 1 < r->end && r->at[1] == '"';
        if (twice)
            r->at++;
        else if (quoted ? *r->at == '"' : strchr(",\r\n", *r->at) && *r->at)
            break;
        pl_text_add(&t, "%c", *r->at);
    }
    if (quoted && r->at < r->end) r->at++;
    *cell = pl_text_get(&t);
    return true;
}

static void end_line(reader *r)
{
    while (r->at < r->end && *r->at != '\n') r->at++;
    if (r->at < r->end) r->at++;
    r->line++;
}

static bool read_head(reader *r, int at[N_COLUMNS])
{
    const char *cell;
    for (int k = 0; k < N_COLUMNS; k++) at[k] = -1;
    for (int i = 0; next_cell(r, i == 0, &cell); i++)
        for (int k = 0; k < N_COLUMNS; k++)
            if (!strcmp(cell, columns[k])) at[k] = i;
    end_line(r);
    for (int k = 0; k < N_COLUMNS; k++)
        if (at[k] < 0)
            return pl_err_set(r->err, PL_EINPUT,
                              "%s: line 1 names no column '%s': model, cluster, strategy and "
                              "measured_s have to be there",
                              r->name, columns[k]);
    return true;
}

static bool read_row(reader *r, const int at[N_COLUMNS], pl_fit_row *row)
{
    const char *value[N_COLUMNS] = { 0 }, *cell;
    char *end = NULL;
    for (int i = 0; next_cell(r, i == 0, &cell); i++)
        for (int k = 0; k < N_COLUMNS; k++)
            if (at[k] == i) value[k] = cell;
    for (int k = 0; k < N_COLUMNS; k++)
        if (!value[k] || !*value[k])
            return pl_err_set(r->err, PL_EINPUT, "%s: line %d has no '%s'", r->name, r->line,
                              columns[k]);
    *row = (pl_fit_row){ r->line, value[MODEL], value[CLUSTER], value[STRATEGY], 0 };
    row->measured = strtod(value[MEASURED], &end);
    if (*end || !(row->measured > 0) || !isfinite(row->measured))
        return pl_err_set(r->err, PL_EINPUT,
                          "%s: line %d: measured_s is '%.40s': seconds above 0 are needed", r->name,
                          r->line, value[MEASURED]);
    return true;
}

bool pl_fit_read(const char *text, size_t n, const char *name, pl_arena *out, int *n_rows,
                 pl_fit_row **rows, pl_err *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, as some programs write it */
    reader r = { text, text + n, name, 1, out, err };
    int at[N_COLUMNS], lines = 1;
    if (n >= sizeof mark - 1 && !memcmp(text, mark, sizeof mark - 1)) r.at += sizeof mark - 1;
    for (size_t i = 0; i < n; i++) lines += text[i] == '\n';
    if (lines > PL_FIT_ROWS)
        return pl_err_set(err, PL_EINPUT, "%s has %d lines, %d can be read", name, lines,
                          PL_FIT_ROWS);
    *rows = PL_NEW_N(out, pl_fit_row, lines + 1);
    *n_rows = 0;
    PL_TRY(read_head(&r, at));
    while (r.at < r.end) {
        const bool empty = *r.at == '\n' || *r.at == '\r';
        if (!empty) PL_TRY(read_row(&r, at, &(*rows)[(*n_rows)++]));
        end_line(&r);
    }
    return *n_rows || pl_err_set(err, PL_EINPUT, "%s has no rows", name);
}
