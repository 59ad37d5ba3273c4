/* The top under planes (top.h): one of the points where three of them meet, counting the edges of
 * the range as planes. There are few. */
#include "chain/top.h"

#include <math.h>

/* Edges of the range, numbered as planes after the real ones: p = 0, p = 1, m = 0. */
enum { AT_0, AT_1, FREE, N_EDGES };

static const double ROUNDING = 1e-9;

double pl_plane_height(const pl_plane *plane, double price, double memory_price)
{
    return price * plane->computing + (1 - price) * plane->sending + memory_price * plane->over;
}

/* x[0] p + x[1] m + x[2] height = x[3] */
static void write_row(const pl_plane *plane, int edge, double x[4])
{
    for (int i = 0; i < 4; i++) x[i] = 0;
    if (edge < 0) {
        x[0] = plane->sending - plane->computing;
        x[1] = -plane->over;
        x[2] = 1;
        x[3] = plane->sending;
    } else {
        x[edge == FREE] = 1;
        x[3] = edge == AT_1;
    }
}

/* Gaussian elimination with the largest pivot of a column; false: no one point. */
static bool meet(double x[3][4], double at[3])
{
    for (int c = 0; c < 3; c++) {
        int best = c;
        for (int r = c + 1; r < 3; r++)
            if (fabs(x[r][c]) > fabs(x[best][c])) best = r;
        if (fabs(x[best][c]) < 1e-12) return false;
        for (int k = 0; k < 4; k++) {
            double swap = x[c][k];
            x[c][k] = x[best][k], x[best][k] = swap;
        }
        for (int r = 0; r < 3; r++) {
            double by = r == c ? 0 : x[r][c] / x[c][c];
            for (int k = c; k < 4; k++) x[r][k] -= by * x[c][k];
        }
    }
    for (int c = 0; c < 3; c++) at[c] = x[c][3] / x[c][c];
    return true;
}

static bool is_in_range(const double at[3])
{
    return at[0] >= -ROUNDING && at[0] <= 1 + ROUNDING && at[1] >= -ROUNDING;
}

static bool is_under_all(int n, const pl_plane *plane, const double at[3])
{
    for (int i = 0; i < n; i++) {
        double h = pl_plane_height(&plane[i], at[0], at[1]);
        if (at[2] > h + ROUNDING * (fabs(h) + fabs(at[1] * plane[i].over))) return false;
    }
    return true;
}

/* Units in which all numbers are about 1. */
typedef struct units {
    double seconds, bytes;
} units;

static units find_units(int n, const pl_plane *plane)
{
    units u = { 0, 0 };
    for (int i = 0; i < n; i++) {
        u.seconds = fmax(u.seconds, fmax(plane[i].computing, plane[i].sending));
        u.bytes = fmax(u.bytes, fabs(plane[i].over));
    }
    return (units){ u.seconds > 0 ? u.seconds : 1, u.bytes > 0 ? u.bytes : 1 };
}

/* Where three planes meet, n and above being edges: the top, unless it is known or lies above
 * another plane. */
static void try_three(int n, const pl_plane *plane, units u, const int three[3], pl_top *top)
{
    double x[3][4], at[3];
    for (int r = 0; r < 3; r++) {
        const bool edge = three[r] >= n;
        const pl_plane *p = &plane[edge ? 0 : three[r]];
        const pl_plane scaled = { p->computing / u.seconds, p->sending / u.seconds,
                                  p->over / u.bytes };
        write_row(&scaled, edge ? three[r] - n : -1, x[r]);
    }
    if (!meet(x, at) || !is_in_range(at)) return;
    at[1] *= u.seconds / u.bytes, at[2] *= u.seconds;
    if (at[2] <= top->height || !is_under_all(n, plane, at)) return;
    *top = (pl_top){ fmin(fmax(at[0], 0), 1), fmax(at[1], 0), at[2] };
}

pl_top pl_top_of(int n, const pl_plane *plane)
{
    pl_top top = { .height = -INFINITY };
    const units u = find_units(n, plane);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n + N_EDGES; j++)
            for (int k = j + 1; k < n + N_EDGES; k++)
                try_three(n, plane, u, (int[]){ i, j, k }, &top);
    return top;
}

/* Where a line from a to b is 0; outside of [0, 1]: nowhere. */
static double zero_of(double a, double b)
{
    return a == b ? -1 : a / (a - b);
}

double pl_plane_mixed(const pl_plane *a, const pl_plane *b)
{
    const double part[] = { 0, 1, zero_of(a->over, b->over),
                            zero_of(a->computing - a->sending, b->computing - b->sending) };
    const double rounding = ROUNDING * (fabs(a->over) + fabs(b->over));
    double least = INFINITY;
    for (int i = 0; i < 4; i++) {
        const double q = part[i], p = 1 - q;
        if (!(q >= 0 && q <= 1) || p * a->over + q * b->over > rounding) continue;
        least =
            fmin(least, fmax(p * a->computing + q * b->computing, p * a->sending + q * b->sending));
    }
    return least;
}
