/* Meshes, placements, their normal form and text. Read pl_placement_normal(): placements of the
 * same elements become the same, by resolving each split into digits. */
#include "placement/region.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

int pl_mesh_ranks(const pl_mesh *m)
{
    int n = 1;
    for (int i = 0; i < m->n; i++) n *= m->axis[i].size;
    return n;
}

const char *pl_mesh_text(const pl_mesh *m, pl_arena *a)
{
    pl_text t = { .arena = a };
    for (int i = 0; i < m->n; i++)
        pl_text_add(&t, "%s%s=%d", i ? " " : "", m->axis[i].name, m->axis[i].size);
    return pl_text_get(&t);
}

void pl_mesh_write(const pl_mesh *m, pl_json_out *out)
{
    pl_json_open(out, "mesh", PL_JSON_LIST);
    for (int i = 0; i < m->n; i++) {
        PL_JSON_ROW(out, NULL, "axis", m->axis[i].name, "size", m->axis[i].size);
    }
    pl_json_close(out);
}

void pl_mesh_write_axes(const pl_mesh *m, const char *key, unsigned axes, pl_json_out *out)
{
    pl_json_open(out, key, PL_JSON_LIST);
    for (int i = 0; i < m->n; i++)
        if (axes >> i & 1) pl_json_put_text(out, NULL, m->axis[i].name);
    pl_json_close(out);
}

int pl_mesh_coord(const pl_mesh *m, int rank, int axis)
{
    for (int i = m->n - 1; i > axis; i--) rank /= m->axis[i].size;
    return rank % m->axis[axis].size;
}

static bool same_but(const pl_mesh *m, int a, int b, unsigned axes)
{
    for (int i = 0; i < m->n; i++)
        if (!(axes >> i & 1) && pl_mesh_coord(m, a, i) != pl_mesh_coord(m, b, i)) return false;
    return true;
}

int pl_mesh_group(const pl_mesh *m, int rank, unsigned axes, int out[], int *me)
{
    int n = 0;
    for (int r = 0, all = pl_mesh_ranks(m); r < all; r++) {
        if (!same_but(m, rank, r, axes)) continue;
        if (r == rank) *me = n;
        out[n++] = r;
    }
    return n;
}

int pl_mesh_find(const pl_mesh *m, const char *name)
{
    for (int a = 0; a < m->n; a++)
        if (!strcmp(m->axis[a].name, name)) return a;
    return -1;
}

bool pl_mesh_alike(const pl_mesh *a, const pl_mesh *b)
{
    bool same = a->n == b->n && a->copy_start == b->copy_start &&
                a->copy_per_byte == b->copy_per_byte && a->host_per_byte == b->host_per_byte;
    for (int i = 0; same && i < a->n; i++) {
        const pl_mesh_axis *x = &a->axis[i], *y = &b->axis[i];
        same = x->size == y->size && x->latency == y->latency && x->per_byte == y->per_byte &&
               x->start == y->start && x->exchange_per_byte == y->exchange_per_byte;
    }
    return same;
}

static bool same_split(const pl_split *x, const pl_split *y)
{
    return x->dim == y->dim && x->axis == y->axis && x->size == y->size && x->unit == y->unit &&
           x->stride == y->stride && x->reach == y->reach && x->pad == y->pad;
}

bool pl_placement_same(const pl_placement *a, const pl_placement *b)
{
    if (a->pending != b->pending || (a->pending && a->monoid != b->monoid)) return false;
    bool same = a->n == b->n && a->host == b->host;
    for (int i = 0; same && i < a->n; i++) same = same_split(&a->split[i], &b->split[i]);
    return same;
}

uint64_t pl_placement_hash(const pl_placement *p)
{
    uint64_t h =
        pl_hash_mix(1 + p->host, (uint64_t)p->n << 16 | (uint64_t)p->pending << 8 | p->monoid);
    for (int i = 0; i < p->n; i++) {
        const pl_split *x = &p->split[i];
        h = pl_hash_mix(h, (uint64_t)x->dim << 8 | (uint64_t)x->axis);
        if (x->size) h = pl_hash_mix(pl_hash_mix(h, (uint64_t)x->size), (uint64_t)x->unit);
        if (x->stride)
            h = pl_hash_mix(pl_hash_mix(h, (uint64_t)x->stride),
                            (uint64_t)x->reach << 32 | (uint32_t)x->pad);
    }
    return h;
}

unsigned pl_placement_differ(const pl_placement *a, const pl_placement *b)
{
    unsigned axes = a->pending ^ b->pending;
    for (int i = 0, k = 0; i < a->n || k < b->n;) { /* one dimension after the other */
        bool from_a = k == b->n || (i < a->n && a->split[i].dim <= b->split[k].dim);
        int dim = from_a ? a->split[i].dim : b->split[k].dim;
        unsigned here = 0;
        bool same = true;
        for (; (i < a->n && a->split[i].dim == dim) || (k < b->n && b->split[k].dim == dim);) {
            const pl_split *x = i < a->n && a->split[i].dim == dim ? &a->split[i++] : NULL;
            const pl_split *y = k < b->n && b->split[k].dim == dim ? &b->split[k++] : NULL;
            here |= (x ? 1u << x->axis : 0) | (y ? 1u << y->axis : 0);
            same &= x && y && same_split(x, y);
        }
        if (!same) axes |= here;
    }
    return axes;
}

static int64_t unit_of(const pl_split *s)
{
    return s->size && !s->stride ? s->unit : 1;
}

void pl_placement_add(pl_placement *p, pl_split s)
{
    int i = p->n++;
    for (; i > 0; i--) {
        const pl_split *x = &p->split[i - 1];
        if (x->dim < s.dim || (x->dim == s.dim && unit_of(x) >= unit_of(&s))) break;
        p->split[i] = *x;
    }
    p->split[i] = s;
}

void pl_placement_split(pl_placement *p, int dim, int axis)
{
    pl_placement_add(p, (pl_split){ .dim = (int8_t)dim, .axis = (int8_t)axis });
}

void pl_placement_remove(pl_placement *p, int index)
{
    p->n--;
    for (int i = index; i < p->n; i++) p->split[i] = p->split[i + 1];
    p->split[p->n] = (pl_split){ 0 };
}

int pl_placement_find(const pl_placement *p, int axis)
{
    for (int i = 0; i < p->n; i++)
        if (p->split[i].axis == axis) return i;
    return -1;
}

int pl_placement_dim(const pl_placement *p, int axis)
{
    int i = pl_placement_find(p, axis);
    return i < 0 ? -1 : p->split[i].dim;
}

unsigned pl_placement_axes(const pl_placement *p)
{
    unsigned axes = 0;
    for (int i = 0; i < p->n; i++) axes |= 1u << p->split[i].axis;
    return axes;
}

/* -- one form ---------------------------------------------------------------------------------- */

static bool same_digit(const pl_split *x, const pl_split *y)
{
    return x->dim == y->dim && x->size == y->size && x->unit == y->unit && x->stride == y->stride &&
           x->reach == y->reach && x->pad == y->pad;
}

int pl_placement_end(const pl_placement *p, int i)
{
    int end = i + 1;
    while (end < p->n && same_digit(&p->split[i], &p->split[end])) end++;
    return end;
}

static int64_t devices_of(const pl_placement *p, const pl_mesh *m, int i, int end)
{
    int64_t n = 1;
    for (; i < end; i++) n *= m->axis[p->split[i].axis].size;
    return n;
}

static void set_digit(pl_placement *p, int i, int end, int64_t size, int64_t unit)
{
    for (; i < end; i++) p->split[i].size = size, p->split[i].unit = unit;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t find_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b, b = r;
    }
    return a;
}

/* The digit of splits [i, end) in as few values as can be: the most that come in a lump. */
static void narrow(pl_placement *p, const pl_mesh *m, int i, int end)
{
    int64_t size = p->split[i].size, lump = size, chunk = size;
    for (int k = i; k < end; k++) {
        chunk = divide_up(chunk, m->axis[p->split[k].axis].size);
        lump = find_gcd(lump, chunk);
    }
    set_digit(p, i, end, size / lump, p->split[i].unit * lump);
}

/* Values of the digit that one device has at most. */
static int64_t chunk_of(const pl_placement *p, const pl_mesh *m, int i, int end)
{
    int64_t chunk = p->split[i].size;
    for (; i < end; i++) chunk = divide_up(chunk, m->axis[p->split[i].axis].size);
    return chunk;
}

/* The largest k for which k values in place of each give every device k times what it has. Of s
 * values each of p devices has c = ceil(s / p); ceil(k s / p) = k c when k (p c - s) < p. */
static int64_t most_values(const pl_placement *p, const pl_mesh *m, int i, int end)
{
    int64_t most = INT64_MAX, chunk = p->split[i].size;
    for (; i < end; i++) {
        int64_t parts = m->axis[p->split[i].axis].size, next = divide_up(chunk, parts);
        int64_t lack = parts * next - chunk;
        if (lack && (parts - 1) / lack < most) most = (parts - 1) / lack;
        chunk = next;
    }
    return most;
}

/* The digit of [i, end) takes in what lies below it, down to the next split digit; one whose
 * devices hold a single value each becomes one with that, if it can. Uneven digits cannot
 * always. */
static void widen(pl_placement *p, const pl_mesh *m, int i, int end)
{
    pl_split *x = &p->split[i];
    int last = end, dim = x->dim;
    narrow(p, m, i, end);
    if (end < p->n && p->split[end].dim == dim) {
        pl_split *y = &p->split[end];
        pl_placement wide = *p;
        last = pl_placement_end(p, end);
        narrow(p, m, end, last);
        if (chunk_of(p, m, i, end) == 1 && x->unit == y->unit * y->size &&
            y->size <= most_values(p, m, i, end))
            set_digit(p, i, last, x->size * y->size, y->unit);
        else
            *p = wide, last = end;
    }
    int64_t below =
        last < p->n && p->split[last].dim == dim ? p->split[last].size * p->split[last].unit : 1;
    int64_t room = x->unit / below, k = most_values(p, m, i, last);
    PL_ASSERT_CMP(room, >, 0); /* legal: pl_placement_check */
    if (x->size == 1) {
        set_digit(p, i, last, 1, below);
        return;
    }
    if (k > room) k = room;
    while (room % k) k--; /* short: less than the devices of an axis, or all of the room */
    set_digit(p, i, last, x->size * k, x->unit / k);
}

/* Windows that lie side by side are a digit. */
static pl_split resolve(pl_split x, const pl_shape *s)
{
    int64_t whole = s->dim[x.dim];
    if (x.stride && !x.pad && x.reach == x.stride && x.size == whole / x.stride &&
        whole % x.stride == 0)
        x.unit = x.stride, x.stride = x.reach = 0;
    if (x.stride) x.unit = 0;
    if (!x.size) x.size = whole, x.unit = 1;
    return x;
}

pl_placement pl_placement_normal(const pl_placement *p, const pl_mesh *m, const pl_shape *s)
{
    pl_placement x = { .host = p->host };
    for (int a = 0; a < m->n; a++)
        if (m->axis[a].size > 1) x.pending |= (uint8_t)(p->pending & 1u << a);
    if (x.pending) x.monoid = p->monoid;
    for (int i = 0; i < p->n; i++)
        if (m->axis[p->split[i].axis].size > 1) pl_placement_add(&x, resolve(p->split[i], s));
    for (int end = x.n; end > 0;) { /* minor digits first: the others widen down to them */
        int i = end - 1;
        while (i > 0 && same_digit(&x.split[i - 1], &x.split[end - 1])) i--;
        if (!x.split[i].stride) widen(&x, m, i, end);
        end = i;
    }
    for (int i = 0, end; i < x.n; i = end) {
        const pl_split *y = &x.split[i];
        end = pl_placement_end(&x, i);
        bool alone = (!i || y[-1].dim != y->dim) && (end == x.n || x.split[end].dim != y->dim);
        if (alone && !y->stride && y->size == s->dim[y->dim]) set_digit(&x, i, end, 0, 0);
    }
    return x;
}

bool pl_placement_gather(pl_placement *p, const pl_mesh *m, const pl_shape *s, int axis)
{
    int at = pl_placement_find(p, axis), i = 0, end;
    PL_ASSERT_CMP(at, >=, 0);
    while ((end = pl_placement_end(p, i)) <= at) i = end;
    pl_split x = resolve(p->split[at], s);
    if (at + 1 < end) { /* the splits below get a digit of their own */
        int64_t parts = devices_of(p, m, i, at + 1);
        if (x.stride || x.size % parts || x.size == parts) return false;
        set_digit(p, i, at + 1, parts, x.size / parts * x.unit);
        set_digit(p, at + 1, end, x.size / parts, x.unit);
    }
    pl_placement_remove(p, at);
    *p = pl_placement_normal(p, m, s);
    return true;
}

bool pl_placement_slice(pl_placement *p, const pl_mesh *m, const pl_shape *s, pl_split digit)
{
    pl_split x = resolve(digit, s);
    if (x.stride || (x.size == 1 && s->dim[x.dim] > 1)) return false;
    for (int i = 0, end; i < p->n; i = end) {
        end = pl_placement_end(p, i);
        if (p->split[i].dim != x.dim) continue;
        if (p->split[i].stride) return false;
        pl_split y = resolve(p->split[i], s);
        set_digit(p, i, end, y.size, y.unit);
        narrow(p, m, i, end);
        y = p->split[i];
        int64_t top = x.size * x.unit, y_top = y.size * y.unit;
        if (y_top == top && x.size % y.size == 0 && x.size / y.size <= most_values(p, m, i, end))
            set_digit(p, i, end, x.size, x.unit);
        else if (y.size == 1 || (y.unit % top && x.unit % y_top)) /* neither lies below the other */
            return false;
    }
    pl_placement_add(p, x);
    *p = pl_placement_normal(p, m, s);
    return true;
}

/* -- check ------------------------------------------------------------------------------------- */

static bool check_window(const pl_split *x, const char *axis, pl_err *err)
{
    bool ok = x->size > 0 && x->size <= INT32_MAX && x->stride > 0 && x->reach > 0 && x->pad >= 0;
    return ok || pl_err_set(err, PL_EINPUT,
                            "axis '%s': no window has %lld positions, stride %d, reach %d, pad %d",
                            axis, (long long)x->size, x->stride, x->reach, x->pad);
}

static bool check_split(const pl_placement *p, int i, const pl_mesh *m, const pl_shape *s,
                        unsigned *used, pl_err *err)
{
    const pl_split *x = &p->split[i];
    int d = x->dim, a = x->axis;
    if (d < 0 || d >= s->rank || a < 0 || a >= m->n)
        return pl_err_set(err, PL_EINPUT, "dimension %d or axis %d does not exist", d, a);
    const char *name = m->axis[a].name;
    if (*used >> a & 1) return pl_err_set(err, PL_EINPUT, "axis '%s' is used twice", name);
    *used |= 1u << a;
    const pl_split *up = i && p->split[i - 1].dim == d ? &p->split[i - 1] : NULL;
    if (up && same_digit(up, x)) return true;
    bool whole = !x->size || x->stride;
    if (up && (whole || !up->size || up->stride))
        return pl_err_set(err, PL_EINPUT,
                          "axes '%s' and '%s' split all of dimension %d, but not the same way",
                          m->axis[up->axis].name, name, d);
    if (x->stride) /* positions and dimension need not fit: what a window does not see is padding */
        return check_window(x, name, err);
    int64_t above = up ? up->unit : s->dim[d], digit = x->size * x->unit;
    if (whole || (x->size > 0 && x->unit > 0 && digit && above % digit == 0)) return true;
    return pl_err_set(err, PL_EINPUT,
                      "axis '%s': dimension %d of %lld has no digit of %lld values of %lld each",
                      name, d, (long long)s->dim[d], (long long)x->size, (long long)x->unit);
}

bool pl_placement_check(const pl_placement *p, const pl_mesh *m, const pl_shape *s, pl_err *err)
{
    unsigned used = p->pending;
    if (p->pending >> m->n) return pl_err_set(err, PL_EINPUT, "pending on an axis the mesh lacks");
    for (int i = 0; i < p->n; i++) PL_TRY(check_split(p, i, m, s, &used, err));
    return true;
}

int64_t pl_split_values(const pl_split *x, int64_t dimension)
{
    return x->size ? x->size : dimension;
}

int64_t pl_split_top(const pl_split *x, int64_t dimension)
{
    return x->size ? x->size * x->unit : dimension;
}

bool pl_placement_even(const pl_placement *p, const pl_mesh *m, const pl_shape *s)
{
    for (int i = 0, end; i < p->n; i = end) {
        const pl_split *x = &p->split[i];
        end = pl_placement_end(p, i);
        if (x->stride || pl_split_values(x, s->dim[x->dim]) % devices_of(p, m, i, end))
            return false;
    }
    return true;
}

#define HOST "@host"
static const char *const monoids[PL_N_MONOIDS] = { "+", "max", "min" };

static void print_split(const pl_split *x, const pl_mesh *m, pl_text *t)
{
    pl_text_add(t, "%s", m->axis[x->axis].name);
    if (x->stride)
        pl_text_add(t, ":%lld~%d,%d,%d", (long long)x->size, x->stride, x->reach, x->pad);
    else if (x->size)
        pl_text_add(t, ":%lldx%lld", (long long)x->size, (long long)x->unit);
}

pl_shape pl_placement_local(const pl_placement *p, const pl_mesh *m, const pl_shape *s, int rank)
{
    pl_region r = pl_region_of(p, m, s, rank);
    pl_shape l = { .rank = s->rank };
    for (int d = 0; d < s->rank; d++) l.dim[d] = 1;
    for (int i = 0; i < r.n; i++) l.dim[r.digit[i].dim] *= r.digit[i].n;
    return l;
}

int64_t pl_placement_room(const pl_placement *p, const pl_mesh *m, const pl_shape *s)
{
    unsigned windows = 0; /* over other axes, the first has the most */
    int64_t most = 0;
    for (int i = 0; i < p->n; i++)
        if (p->split[i].stride) windows |= 1u << p->split[i].axis;
    for (int r = 0, ranks = windows ? pl_mesh_ranks(m) : 1; r < ranks; r++) {
        bool first = true;
        for (int a = 0; a < m->n; a++) first &= windows >> a & 1 || !pl_mesh_coord(m, r, a);
        if (!first) continue;
        pl_region x = pl_region_of(p, m, s, r);
        if (pl_region_count(&x) > most) most = pl_region_count(&x);
    }
    return most;
}

static void print_pending(const pl_placement *p, const pl_mesh *m, pl_text *t)
{
    if (!p->pending) return;
    pl_text_add(t, "%s{", monoids[p->monoid]);
    for (int i = 0, first = 1; i < m->n; i++)
        if (p->pending >> i & 1) {
            pl_text_add(t, first ? "%s" : ",%s", m->axis[i].name);
            first = 0;
        }
    pl_text_add(t, "}");
}

const char *pl_placement_text(pl_arena *a, const pl_placement *p, const pl_mesh *m, int rank)
{
    pl_text t = { .arena = a };
    pl_text_add(&t, "[");
    for (int d = 0, i = 0; d < rank; d++) {
        if (d) pl_text_add(&t, ";");
        for (bool first = true; i < p->n && p->split[i].dim == d; i++, first = false) {
            if (!first) pl_text_add(&t, ",");
            print_split(&p->split[i], m, &t);
        }
    }
    pl_text_add(&t, "]");
    print_pending(p, m, &t);
    if (p->host) pl_text_add(&t, HOST);
    return pl_text_get(&t);
}

/* One axis name at *at, up to any of `ends`. */
static bool parse_axis(const char **at, const char *ends, const pl_mesh *m, int *axis, pl_err *err)
{
    size_t n = strcspn(*at, ends);
    for (*axis = 0; *axis < m->n; ++*axis) {
        const char *name = m->axis[*axis].name;
        if (strlen(name) != n || strncmp(name, *at, n)) continue;
        *at += n;
        return true;
    }
    return pl_err_set(err, PL_EINPUT, "placement: the mesh has no axis '%.*s'", (int)n, *at);
}

static bool parse_pending(const char *at, const pl_mesh *m, pl_placement *out, pl_err *err)
{
    int axis;
    const char *from = at;
    for (int i = 0; i < PL_N_MONOIDS; i++) {
        size_t n = strlen(monoids[i]);
        if (strncmp(at, monoids[i], n) || at[n] != '{') continue;
        out->monoid = (pl_monoid)i;
        for (at += n; *at != '}';) {
            at++;
            PL_TRY(parse_axis(&at, ",}", m, &axis, err));
            out->pending |= (uint8_t)(1u << axis);
            if (!*at) break;
        }
        out->host = !strcmp(at, "}" HOST);
        if (out->host || !strcmp(at, "}")) return true;
        break;
    }
    return pl_err_set(err, PL_EINPUT, "placement: '%s' is not +{axis,...} or " HOST, from);
}

static bool parse_count(const char **at, int64_t most, int64_t *out)
{
    char *end;
    if (**at < '0' || **at > '9') return false;
    long long x = strtoll(*at, &end, 10);
    *at = end;
    *out = x;
    return x <= most;
}

/* What may follow the name of an axis: ":12x64", or ":8~2,3,1". */
static bool parse_digit(const char **at, pl_split *x, pl_err *err)
{
    int64_t part[3] = { 0 };
    const char *from = *at;
    if (**at != ':') return true;
    ++*at;
    bool ok = parse_count(at, INT64_MAX / 2, &x->size) && x->size;
    if (ok && **at == 'x') {
        ++*at;
        ok = parse_count(at, INT64_MAX / x->size, &x->unit) && x->unit;
    } else {
        for (int k = 0; ok && k < 3; k++) {
            ok = **at == (k ? ',' : '~');
            if (ok) ++*at;
            ok = ok && parse_count(at, INT32_MAX, &part[k]);
        }
        ok = ok && part[0] && part[1] && x->size <= INT32_MAX;
        x->stride = (int32_t)part[0], x->reach = (int32_t)part[1], x->pad = (int32_t)part[2];
    }
    ok = ok && (!**at || strchr(",;]", **at));
    return ok ||
           pl_err_set(err, PL_EINPUT,
                      "placement: '%s' is neither :SIZExUNIT nor :SIZE~STRIDE,REACH,PAD", from);
}

/* The axes of one dimension, up to ';' or ']'. */
static bool parse_dim(const char **at, const pl_mesh *m, int dim, pl_placement *out, pl_err *err)
{
    int axis;
    if (**at == ';' || **at == ']') return true;
    for (;;) {
        pl_split x = { .dim = (int8_t)dim };
        if (dim >= PL_MAX_RANK || out->n == PL_MAX_AXES)
            return pl_err_set(err, PL_EINPUT, "placement: at most %d dimensions and %d axes",
                              PL_MAX_RANK, PL_MAX_AXES);
        PL_TRY(parse_axis(at, ":,;]", m, &axis, err));
        x.axis = (int8_t)axis;
        PL_TRY(parse_digit(at, &x, err));
        pl_placement_add(out, x);
        if (**at != ',') return true;
        ++*at;
    }
}

bool pl_placement_parse(const char *text, const pl_mesh *m, pl_placement *out, pl_err *err)
{
    const char *at = text;
    *out = (pl_placement){ 0 };
    if (*at != '[')
        return pl_err_set(err, PL_EINPUT, "placement '%s' does not start with '['", text);
    for (int dim = 0; *at != ']'; dim++) {
        if (!*at) return pl_err_set(err, PL_EINPUT, "placement '%s' has no ']'", text);
        at++;
        PL_TRY(parse_dim(&at, m, dim, out, err));
    }
    at++;
    out->host = !strcmp(at, HOST);
    return !*at || out->host || parse_pending(at, m, out, err);
}
