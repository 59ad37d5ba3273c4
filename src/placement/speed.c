/* A cluster's figures for a mesh: pl_speed_links() prices axes, pl_speed_share() is the roofline of
 * a node's share. */
#include "placement/speed.h"

#include "graph/op.h"
#include "graph/walk.h"

#include <math.h>
#include <string.h>

static double least(double a, double b)
{
    return a > 0 && a < b ? a : b;
}

static int64_t most(double a, int64_t b)
{
    return a > (double)b ? (int64_t)a : b;
}

/* Of the slowest of some classes. */
static pl_speed slowest_of(const pl_cluster *c, uint64_t classes)
{
    pl_speed s = { .windows = 1e300,
                   .fused = 1e300,
                   .unaligned = 1e300,
                   .vector = 1e300,
                   .stream = 1e300,
                   .start = 0,
                   .hidden = 1,
                   .host_hidden = 1,
                   .host_stream = 1e300 };
    for (int t = 0; t < PL_N_TYPES; t++) s.flops[t] = 1e300;
    double narrow = 1e300;
    for (int i = 0; i < c->n_classes; i++) {
        const pl_device_class *d = &c->class[i];
        if (!(classes >> i & 1)) continue;
        double f32 = d->f32_flops.value * d->matmul_efficiency.value;
        double bf16 = d->bf16_flops.value * d->matmul_efficiency.value;
        for (int t = 0; t < PL_N_TYPES; t++) s.flops[t] = least(f32, s.flops[t]);
        narrow = least(bf16, narrow);
        s.stream = least(d->memory_bandwidth.value * d->stream_efficiency.value, s.stream);
        s.windows = least(d->conv_efficiency.value / d->matmul_efficiency.value, s.windows);
        s.fused = least(d->attention_efficiency.value / d->matmul_efficiency.value, s.fused);
        s.unaligned =
            least(d->unaligned_efficiency.value / d->matmul_efficiency.value, s.unaligned);
        s.tile[0] = most(d->tile_rows.value, s.tile[0]);
        s.tile[1] = most(d->tile_columns.value, s.tile[1]);
        s.vector = least(d->vector_flops.value, s.vector);
        s.start = fmax(s.start, d->kernel_start.value);
        s.launch = fmax(s.launch, d->kernel_launch.value);
        s.exposed = fmax(s.exposed, d->memory_exposed.value);
        s.host_hidden = fmin(s.host_hidden, d->host_overlap.value);
        s.host_stream = least(d->host_stream.value, s.host_stream);
    }
    s.flops[PL_BF16] = narrow;
    for (int i = 0; i < c->n_levels; i++) s.hidden = fmin(s.hidden, c->level[i].link.overlap);
    return s;
}

pl_speed pl_speed_of(const pl_cluster *c)
{
    return slowest_of(c, UINT64_MAX);
}

pl_speed pl_speed_among(const pl_cluster *c, int first, int n)
{
    return slowest_of(c, pl_cluster_classes(c, first, n));
}

bool pl_speed_links(pl_mesh *m, const pl_cluster *c, pl_err *err)
{
    pl_link link[PL_MAX_AXES];
    int size[PL_MAX_AXES];
    for (int a = 0; a < m->n; a++) size[a] = m->axis[a].size;
    PL_TRY(pl_cluster_axes(c, m->n, size, link, err));
    for (int a = 0; a < m->n; a++) {
        const pl_link *l = &link[a];
        pl_mesh_axis *x = &m->axis[a];
        x->start = l->start, x->latency = l->latency;
        x->per_byte = l->per_byte, x->exchange_per_byte = l->exchange_per_byte;
    }
    const pl_speed speed = pl_speed_of(c);
    m->copy_start = speed.start;
    m->copy_per_byte = 2 / speed.stream; /* read and written */
    m->host_per_byte = 0;
    for (int i = 0; i < c->n_classes; i++)
        if (c->class[i].host_bandwidth.value > 0)
            m->host_per_byte = fmax(m->host_per_byte, 1 / c->class[i].host_bandwidth.value);
    return true;
}

/* Tensor cores load 16 bytes at a time: rows that are no multiple of them are taken apart. */
int64_t pl_speed_ragged(const pl_share *s)
{
    const pl_node *n = s->node;
    int64_t ragged = 0;
    if (!pl_op_multiplies(n) || n->op->multiplies || n->sig->n_windows) return 0;
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        const pl_shape *shape = &s->shape[o];
        if (pl_node_value(n, o)->type != PL_BF16 || shape->rank < 2) continue;
        const int64_t row = shape->dim[shape->rank - 1];
        if (row % PL_SPEED_ROW && (!ragged || row % 2 > ragged % 2)) ragged = row;
    }
    return ragged;
}

static double padded(double n, int64_t tile)
{
    return tile > 1 ? ceil(n / (double)tile) * (double)tile : n;
}

bool pl_speed_is_tiled(const pl_share *s, const pl_speed *speed)
{
    const pl_node *n = s->node;
    return (speed->tile[0] > 1 || speed->tile[1] > 1) && n->n_in > 1 && n->in[0]->type == PL_BF16 &&
           pl_op_multiplies(n) && !n->op->multiplies;
}

double pl_speed_padding(const pl_share *s, const pl_speed *speed)
{
    const pl_node *n = s->node;
    const int64_t rows = speed->tile[0], columns = speed->tile[1];
    double size[2] = { 1, 1 }, sums = 1;
    if (!pl_speed_is_tiled(s, speed)) return 1;
    for (int f = 0; f < n->sig->n_factors; f++) {
        const bool left = pl_share_touches(n, 0, f), right = pl_share_touches(n, 1, f);
        if (n->sig->factor[f].tap) continue;
        if (!pl_share_touches(n, n->n_in, f))
            sums *= (double)s->factor[f].n;
        else if (left != right)
            size[right ? 1 : 0] *= (double)s->factor[f].n;
    }
    const double all = size[0] * size[1] * sums;
    if (all <= 0) return 1;
    return padded(sums, columns) / all *
           fmin(padded(size[0], rows) * padded(size[1], columns),
                padded(size[0], columns) * padded(size[1], rows));
}

/* What a product reaches of what those reach that find_rate() begins with; 0: all of it. */
static double find_part(const pl_share *s, const pl_speed *speed)
{
    const pl_node *n = s->node;
    if (n->op->multiplies) return speed->fused;
    if (n->sig->n_windows) return speed->windows;
    const int64_t ragged = pl_speed_ragged(s);
    return !ragged ? 1 : ragged % 2 ? speed->unaligned / 2 : speed->unaligned;
}

/* Flops per second. */
static double find_rate(const pl_share *s, const pl_speed *speed)
{
    const pl_node *n = s->node;
    const double flops = speed->flops[n->n_in ? n->in[0]->type : PL_F32];
    if (!pl_op_multiplies(n)) return speed->vector > 0 ? speed->vector : flops;
    const double part = find_part(s, speed);
    return part > 0 ? flops * part : flops;
}

/* Are only those rows of an operand touched that ids name? Outputs that take over such an input are
 * such ones too. */
static bool is_by_rows(const pl_op *op, int n_in, int operand)
{
    if (operand >= n_in) {
        const int out = operand - n_in;
        if (!op->inplace || out >= (int)strlen(op->inplace) || op->inplace[out] == '-')
            return false;
        operand = op->inplace[out] - '0';
    }
    return strchr(op->rows + 2, '0' + operand);
}

/* Elements of an operand that are read or written. */
static int64_t count_touched(const pl_share *s, int operand)
{
    const pl_node *n = s->node;
    const int64_t all = pl_shape_count(&s->shape[operand]);
    if (!n->op->rows || !is_by_rows(n->op, n->n_in, operand)) return all;
    const int by = n->op->rows[0] - '0', rows = pl_sig_find(n->sig, n->op->lookup[0]);
    const uint32_t shared = pl_walk_mask(n, operand) & pl_walk_mask(n, by);
    const int64_t tables = pl_walk_points(s, shared), /* each with ids of its own */
        ids = pl_shape_count(&s->shape[by]) / tables;
    return ids < s->factor[rows].n ? all / s->factor[rows].n * ids : all;
}

/* Read and written. */
static double count_bytes(const pl_share *s)
{
    const pl_node *n = s->node;
    double bytes = 0;
    for (int o = 0; o < n->n_in + n->n_out; o++)
        bytes += (double)(count_touched(s, o) * pl_type_bytes(pl_node_value(n, o)->type));
    return bytes;
}

double pl_speed_host_share(const pl_share *s, const pl_speed *speed)
{
    return count_bytes(s) / speed->host_stream;
}

double pl_speed_share(const pl_share *s, const pl_speed *speed)
{
    const pl_node *n = s->node;
    if (n->op->view) return 0;
    const double bytes = count_bytes(s);
    double compute = pl_op_work(s) * pl_speed_padding(s, speed) / find_rate(s, speed),
           memory = bytes / speed->stream;
    const double exposed = pl_op_multiplies(n) ? speed->exposed : 0;
    return speed->start + fmax(compute, memory) + exposed * fmin(compute, memory);
}
