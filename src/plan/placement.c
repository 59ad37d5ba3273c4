#include "plan/placement.h"

#include <string.h>

int pl_mesh_ranks(const pl_mesh *m)
{
    int n = 1;
    for (int i = 0; i < m->n; i++) n *= m->axis[i].size;
    return n;
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

bool pl_placement_same(const pl_placement *a, const pl_placement *b)
{
    if (a->pending != b->pending || (a->pending && a->monoid != b->monoid)) return false;
    for (int d = 0; d < PL_MAX_RANK; d++) {
        if (a->n[d] != b->n[d]) return false;
        for (int k = 0; k < a->n[d]; k++)
            if (a->axis[d][k] != b->axis[d][k]) return false;
    }
    return true;
}

void pl_placement_split(pl_placement *p, int dim, int axis)
{
    p->axis[dim][p->n[dim]++] = (int8_t)axis;
}

int pl_placement_dim(const pl_placement *p, int axis)
{
    for (int d = 0; d < PL_MAX_RANK; d++)
        for (int k = 0; k < p->n[d]; k++)
            if (p->axis[d][k] == axis) return d;
    return -1;
}

pl_placement pl_placement_trim(const pl_placement *p, const pl_mesh *m)
{
    pl_placement x = { .monoid = p->monoid };
    for (int a = 0; a < m->n; a++)
        if (m->axis[a].size > 1) x.pending |= (uint8_t)(p->pending & 1u << a);
    for (int d = 0; d < PL_MAX_RANK; d++)
        for (int k = 0; k < p->n[d]; k++)
            if (m->axis[p->axis[d][k]].size > 1) pl_placement_split(&x, d, p->axis[d][k]);
    return x;
}

bool pl_placement_check(const pl_placement *p, const pl_mesh *m, const pl_shape *s, pl_err *err)
{
    unsigned used = p->pending;
    if (p->pending >> m->n) return pl_err_set(err, PL_EINPUT, "pending on an axis the mesh lacks");
    for (int d = 0; d < PL_MAX_RANK; d++) {
        int64_t parts = 1;
        for (int k = 0; k < p->n[d]; k++) {
            int a = p->axis[d][k];
            if (d >= s->rank || a < 0 || a >= m->n)
                return pl_err_set(err, PL_EINPUT, "dimension %d or axis %d does not exist", d, a);
            if (used >> a & 1)
                return pl_err_set(err, PL_EINPUT, "axis '%s' is used twice", m->axis[a].name);
            used |= 1u << a;
            parts *= m->axis[a].size;
        }
        if (parts > 1 && s->dim[d] % parts)
            return pl_err_set(err, PL_EINPUT,
                              "dimension %d of %lld does not divide into %lld parts (axis '%s')", d,
                              (long long)s->dim[d], (long long)parts, m->axis[p->axis[d][0]].name);
    }
    return true;
}

pl_shape pl_placement_local(const pl_placement *p, const pl_mesh *m, const pl_shape *s)
{
    pl_shape l = *s;
    for (int d = 0; d < s->rank; d++)
        for (int k = 0; k < p->n[d]; k++) l.dim[d] /= m->axis[p->axis[d][k]].size;
    return l;
}

void pl_placement_origin(const pl_placement *p, const pl_mesh *m, const pl_shape *s, int rank,
                         int64_t lo[PL_MAX_RANK])
{
    for (int d = 0; d < s->rank; d++) {
        int64_t part = s->dim[d];
        lo[d] = 0;
        for (int k = 0; k < p->n[d]; k++) {
            part /= m->axis[p->axis[d][k]].size;
            lo[d] += part * pl_mesh_coord(m, rank, p->axis[d][k]);
        }
    }
}

static const char *const monoids[PL_N_MONOIDS] = { "+", "max", "min" };

const char *pl_placement_text(pl_arena *a, const pl_placement *p, const pl_mesh *m, int rank)
{
    pl_text t = { .arena = a };
    pl_text_add(&t, "[");
    for (int d = 0; d < rank; d++) {
        if (d) pl_text_add(&t, ";");
        for (int k = 0; k < p->n[d]; k++)
            pl_text_add(&t, k ? ",%s" : "%s", m->axis[p->axis[d][k]].name);
    }
    pl_text_add(&t, "]");
    if (!p->pending) return pl_text_get(&t);
    pl_text_add(&t, "%s{", monoids[p->monoid]);
    for (int i = 0, first = 1; i < m->n; i++)
        if (p->pending >> i & 1) {
            pl_text_add(&t, first ? "%s" : ",%s", m->axis[i].name);
            first = 0;
        }
    pl_text_add(&t, "}");
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
        if (!strcmp(at, "}")) return true;
        break;
    }
    return pl_err_set(err, PL_EINPUT, "placement: '%s' is not +{axis,...}", at);
}

/* The axes of one dimension, up to ';' or ']'. */
static bool parse_dim(const char **at, const pl_mesh *m, int dim, pl_placement *out, pl_err *err)
{
    int axis;
    if (**at == ';' || **at == ']') return true;
    for (;;) {
        if (dim >= PL_MAX_RANK || out->n[dim] == PL_MAX_AXES)
            return pl_err_set(err, PL_EINPUT, "placement: at most %d dimensions of %d axes each",
                              PL_MAX_RANK, PL_MAX_AXES);
        PL_TRY(parse_axis(at, ",;]", m, &axis, err));
        pl_placement_split(out, dim, axis);
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
    return !*at || parse_pending(at, m, out, err);
}
