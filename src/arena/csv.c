/* Layout problems as text. Read pl_csv_parse() near the end: the line of titles gives each
 * column a role, the others are read cell by cell. */
#include "arena/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 64, MOST_BYTES = 1 << 28 };

typedef enum role { ID, LOWER, UPPER, SIZE, ALIGNMENT, HINT, GAPS, OFFSET, ROLES } role;

static const struct {
    const char *title;
    role role;
} titles[] = {
    { "id", ID },         { "buffer", ID },   { "buffer_id", ID }, { "lower", LOWER },
    { "begin", LOWER },   { "start", LOWER }, { "upper", UPPER },  { "end", UPPER },
    { "size", SIZE },     { "hint", HINT },   { "gaps", GAPS },    { "alignment", ALIGNMENT },
    { "offset", OFFSET },
};

/* What a missing column may be called, and whether it may be missing. */
static const char *const wanted[ROLES] = {
    [ID] = "'id' (or 'buffer', 'buffer_id')",
    [LOWER] = "'lower' (or 'begin', 'start')",
    [UPPER] = "'upper' (or 'end')",
    [SIZE] = "'size'",
};

typedef struct cell {
    const char *text;
    int column; /* of characters, from 1 */
} cell;

typedef struct reader {
    const char *name, *at, *end;
    int line;
    pl_arena *arena;
    int n_cells, n_columns, place[ROLES]; /* which column has the role, or -1 */
    bool is_last;                         /* the column `end`: its last step  */
    cell cells[MOST_COLUMNS];             /* of the line                      */
    pl_err *err;
} reader;

typedef struct owner {
    const char *id;
    int line, column;
} owner;

static bool fail(const reader *r, int column, const char *what, const char *text)
{
    return pl_err_set(r->err, PL_EINPUT, "%s: line %d, column %d: '%.40s': %s", r->name, r->line,
                      column, text, what);
}

static const char *copy_cell(reader *r, const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t')) from++;
    while (from < to && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r')) to--;
    return pl_arena_span(r->arena, from, (size_t)(to - from));
}

static bool is_blank(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t' || *from == '\r')) from++;
    return from == to;
}

/* The cells of the next line that has any; *more is false at the end. */
static bool read_line(reader *r, bool *more)
{
    const char *start, *stop;
    do {
        *more = r->at < r->end;
        if (!*more) return true;
        start = r->at;
        stop = memchr(start, '\n', (size_t)(r->end - start));
        r->at = stop ? stop + 1 : r->end;
        if (!stop) stop = r->end;
        if (memchr(start, 0, (size_t)(stop - start)))
            return pl_err_set(r->err, PL_EINPUT, "%s: line %d: a zero byte: this is no text",
                              r->name, r->line + 1);
        r->line++;
    } while (is_blank(start, stop));
    r->n_cells = 0;
    for (const char *from = start; from <= stop;) {
        const char *to = memchr(from, ',', (size_t)(stop - from));
        if (!to) to = stop;
        if (r->n_cells == MOST_COLUMNS)
            return pl_err_set(r->err, PL_EINPUT, "%s: line %d has more than %d fields", r->name,
                              r->line, (int)MOST_COLUMNS);
        r->cells[r->n_cells++] = (cell){ copy_cell(r, from, to), (int)(from - start) + 1 };
        from = to + 1;
    }
    return true;
}

static bool read_titles(reader *r, pl_csv *csv)
{
    for (int k = 0; k < ROLES; k++) r->place[k] = -1;
    csv->title = PL_NEW_N(r->arena, const char *, r->n_cells);
    csv->n_columns = r->n_columns = r->n_cells;
    for (int i = 0; i < r->n_cells; i++) {
        const char *title = csv->title[i] = r->cells[i].text;
        for (size_t k = 0; k < sizeof titles / sizeof *titles; k++) {
            if (strcmp(title, titles[k].title)) continue;
            if (r->place[titles[k].role] >= 0)
                return fail(r, r->cells[i].column, "a second column with this meaning", title);
            r->place[titles[k].role] = i;
            if (!strcmp(title, "end")) r->is_last = true;
        }
    }
    for (int k = 0; k < ROLES; k++)
        if (wanted[k] && r->place[k] < 0)
            return pl_err_set(r->err, PL_EINPUT,
                              "%s: line %d: the column %s is missing; the first line names the "
                              "columns, e.g. id,lower,upper,size",
                              r->name, r->line, wanted[k]);
    csv->offset = r->place[OFFSET];
    if (csv->offset < 0 && r->n_cells == MOST_COLUMNS)
        return pl_err_set(r->err, PL_EINPUT, "%s: line %d has %d fields and no room for 'offset'",
                          r->name, r->line, r->n_cells);
    return true;
}

static bool fail_number(const reader *r, const cell *c, const char *text)
{
    size_t sign = *text == '-' || *text == '+', digits = strspn(text + sign, "0123456789");
    if (!*text) return fail(r, c->column, "a whole number is missing", text);
    if (digits && !text[sign + digits])
        return fail(r, c->column, "the number does not fit into 64 bits", text);
    return fail(r, c->column, "not a whole number", text);
}

static bool read_int(const reader *r, const cell *c, int64_t *value)
{
    if (!pl_text_int(c->text, value)) return fail_number(r, c, c->text);
    return true;
}

/* NULL where the column or the value is absent. */
static const cell *find_cell(const reader *r, role what)
{
    int i = r->place[what];
    return i >= 0 && *r->cells[i].text ? &r->cells[i] : NULL;
}

static bool read_part(const reader *r, const cell *c, const char **at, char after, int64_t *value)
{
    size_t n = strspn(*at, "0123456789");
    const char *digits = pl_arena_span(r->arena, *at, n);
    if (!n || !pl_text_int(digits, value)) return fail_number(r, c, n ? digits : *at);
    *at += n;
    if (!after) return true;
    if (**at != after)
        return fail(r, c->column, "a gap is FROM-TO or FROM-TO@LOW:HIGH, whole numbers", c->text);
    ++*at;
    return true;
}

static bool read_gap(const reader *r, const cell *c, const char **at, const pl_buf *buf,
                     int64_t end, pl_gap *gap)
{
    *gap = (pl_gap){ 0 };
    PL_TRY(read_part(r, c, at, '-', &gap->from));
    PL_TRY(read_part(r, c, at, 0, &gap->to));
    if (r->is_last && __builtin_add_overflow(gap->to, 1, &gap->to))
        return fail(r, c->column, "the number does not fit into 64 bits", c->text);
    if (**at == '@') {
        ++*at;
        PL_TRY(read_part(r, c, at, ':', &gap->low));
        PL_TRY(read_part(r, c, at, 0, &gap->high));
    }
    if (**at && **at != ' ')
        return fail(r, c->column, "a gap is FROM-TO or FROM-TO@LOW:HIGH, whole numbers", c->text);
    if (gap->from >= gap->to) return fail(r, c->column, "a gap ends before it begins", c->text);
    if (gap->from < end || gap->to > buf->death)
        return fail(r, c->column, "gaps must lie in the life, one after the other", c->text);
    if (gap->low > gap->high || gap->high > buf->bytes)
        return fail(r, c->column, "what a gap keeps must be bytes LOW:HIGH of the size", c->text);
    return true;
}

static bool read_gaps(const reader *r, const cell *c, const pl_buf *buf, pl_wish *wish)
{
    struct {
        int n, cap;
        pl_gap *at;
    } gaps = { 0 };
    int64_t end = buf->birth;
    for (const char *at = c->text; *at;) {
        pl_gap gap;
        PL_TRY(read_gap(r, c, &at, buf, end, &gap));
        end = gap.to;
        PL_PUSH(r->arena, &gaps, gap);
        at += strspn(at, " ");
    }
    wish->n_gaps = gaps.n;
    wish->gap = gaps.at;
    return true;
}

static bool read_wish(const reader *r, pl_buf *buf)
{
    const cell *align = find_cell(r, ALIGNMENT), *hint = find_cell(r, HINT);
    const cell *gaps = find_cell(r, GAPS), *offset = find_cell(r, OFFSET);
    if (!align && !hint && !gaps && !offset) return true;
    pl_wish *w = PL_NEW(r->arena, pl_wish);
    buf->wish = w;
    if (align) {
        PL_TRY(read_int(r, align, &w->align));
        if (w->align < 1) return fail(r, align->column, "an alignment is 1 or more", align->text);
    }
    if (hint) {
        PL_TRY(read_int(r, hint, &w->hint));
        w->is_hinted = w->hint >= 0; /* -1 is MiniMalloc's "none" */
    }
    if (offset) {
        PL_TRY(read_int(r, offset, &w->fixed));
        w->is_fixed = true;
        if (w->fixed < 0) return fail(r, offset->column, "an offset is 0 or more", offset->text);
        if (w->align && w->fixed % w->align)
            return fail(r, offset->column, "not a multiple of the alignment", offset->text);
    }
    return !gaps || read_gaps(r, gaps, buf, w);
}

static bool read_buffer(const reader *r, pl_buf *buf)
{
    const cell *lower = &r->cells[r->place[LOWER]], *upper = &r->cells[r->place[UPPER]];
    const cell *size = &r->cells[r->place[SIZE]], *id = &r->cells[r->place[ID]];
    *buf = (pl_buf){ 0 };
    if (!*id->text) return fail(r, id->column, "the id is missing", id->text);
    PL_TRY(read_int(r, lower, &buf->birth));
    PL_TRY(read_int(r, upper, &buf->death));
    PL_TRY(read_int(r, size, &buf->bytes));
    if (buf->bytes < 0) return fail(r, size->column, "a size is 0 or more", size->text);
    if (r->is_last && __builtin_add_overflow(buf->death, 1, &buf->death))
        return fail(r, upper->column, "the number does not fit into 64 bits", upper->text);
    if (buf->birth >= buf->death)
        return pl_err_set(r->err, PL_EINPUT,
                          "%s: line %d, column %d: the life from %lld to %lld is empty: it must "
                          "end after it begins",
                          r->name, r->line, upper->column, (long long)buf->birth,
                          (long long)buf->death);
    return read_wish(r, buf);
}

static int by_id(const void *left, const void *right)
{
    const owner *a = left, *b = right;
    int order = strcmp(a->id, b->id);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static bool check_ids(reader *r, int n, owner at[])
{
    if (n) qsort(at, (size_t)n, sizeof *at, by_id);
    for (int i = 1; i < n; i++)
        if (!strcmp(at[i - 1].id, at[i].id))
            return pl_err_set(r->err, PL_EINPUT,
                              "%s: line %d, column %d: the id '%.40s' is already that of line %d",
                              r->name, at[i].line, at[i].column, at[i].id, at[i - 1].line);
    return true;
}

static bool read_all(reader *r, pl_csv *csv)
{
    struct {
        int n, cap;
        pl_buf *at;
    } bufs = { 0 };
    struct {
        int n, cap;
        const char **at;
    } cells = { 0 };
    struct {
        int n, cap;
        owner *at;
    } owners = { 0 };
    bool more;
    PL_TRY(read_line(r, &more));
    if (!more)
        return pl_err_set(r->err, PL_EINPUT,
                          "%s: line 1: empty; the first line names the columns, e.g. "
                          "id,lower,upper,size",
                          r->name);
    PL_TRY(read_titles(r, csv));
    for (;;) {
        PL_TRY(read_line(r, &more));
        if (!more) break;
        if (r->n_cells != r->n_columns)
            return pl_err_set(r->err, PL_EINPUT, "%s: line %d has %d fields, the first line has %d",
                              r->name, r->line, r->n_cells, r->n_columns);
        pl_buf b;
        PL_TRY(read_buffer(r, &b));
        const cell *id = &r->cells[r->place[ID]];
        owner o = { id->text, r->line, id->column };
        PL_PUSH(r->arena, &bufs, b);
        PL_PUSH(r->arena, &owners, o);
        for (int i = 0; i < r->n_cells; i++) PL_PUSH(r->arena, &cells, r->cells[i].text);
    }
    csv->n = bufs.n;
    csv->buf = bufs.at;
    csv->cell = cells.at;
    return check_ids(r, owners.n, owners.at);
}

bool pl_csv_parse(const char *text, size_t n, const char *name, pl_arena *arena, pl_csv **csv,
                  pl_err *err)
{
    if (n > MOST_BYTES)
        return pl_err_set(err, PL_EINPUT, "%s: %zu bytes; at most %d can be read", name, n,
                          (int)MOST_BYTES);
    reader r = { .name = name, .at = text, .end = text + n, .arena = arena, .err = err };
    *csv = PL_NEW(arena, pl_csv);
    return read_all(&r, *csv);
}

static void print_line(const pl_csv *csv, const char *const fields[], const char *offset,
                       pl_text *out)
{
    for (int i = 0; i < csv->n_columns; i++)
        pl_text_add(out, "%s%s", i ? "," : "", i == csv->offset ? offset : fields[i]);
    if (csv->offset < 0) pl_text_add(out, ",%s", offset);
    pl_text_add(out, "\n");
}

void pl_csv_print(const pl_csv *csv, const int64_t offset[], pl_text *out)
{
    print_line(csv, csv->title, "offset", out);
    for (int i = 0; i < csv->n; i++) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)offset[i]);
        print_line(csv, csv->cell + (size_t)i * (size_t)csv->n_columns, number, out);
    }
}
