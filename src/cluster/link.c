/* What a message costs on a link (a straight line or a measured curve), and the line that fits
 * measured points best. */
#include "cluster/link.h"

#include <math.h>

double pl_link_seconds(const pl_link *link, double bytes)
{
    const pl_point *p = link->point;
    int n = link->n_points, i = 1;
    if (!n) return link->start + link->latency + bytes * link->per_byte;
    if (bytes <= p[0].bytes) return p[0].seconds;
    while (i < n && p[i].bytes < bytes) i++;
    if (i == n) return p[n - 1].seconds * (bytes / p[n - 1].bytes);
    double share = (bytes - p[i - 1].bytes) / (p[i].bytes - p[i - 1].bytes);
    return p[i - 1].seconds + share * (p[i].seconds - p[i - 1].seconds);
}

double pl_link_hops(const pl_link *link, int hops, double bytes)
{
    return hops ? link->start + hops * fmax(pl_link_seconds(link, bytes) - link->start, 0) : 0;
}

/* Minimise sum (u a + v b - 1)^2 over the points, u = 1 / seconds, v = bytes / seconds: the normal
 * equations, and when one of the two comes out negative the minimum lies on the border where that
 * one is 0, as the sum is convex. Bytes are scaled by the largest, so that all is of one size. */
void pl_link_fit(int n, const pl_point point[], double *latency, double *per_byte)
{
    double uu = 0, uv = 0, vv = 0, su = 0, sv = 0, most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, point[i].bytes);
    bool differ = false;
    for (int i = 0; i < n; i++) {
        double u = 1 / point[i].seconds, v = point[i].bytes / most * u;
        uu += u * u, uv += u * v, vv += v * v, su += u, sv += v;
        differ |= point[i].bytes < most;
    }
    double a = 0, b = sv / vv, det = uu * vv - uv * uv;
    if (differ && det > 1e-14 * uu * vv) {
        a = (su * vv - sv * uv) / det;
        b = (sv * uu - su * uv) / det;
        if (b < 0) a = su / uu, b = 0;
        if (a < 0) a = 0, b = sv / vv;
    }
    *latency = a;
    *per_byte = b / most;
}

bool pl_link_check(int n, const pl_point point[], pl_err *err)
{
    if (n < 1 || n > PL_LINK_POINTS)
        return pl_err_set(err, PL_EINPUT, "%d points; a curve has 1 to %d", n, PL_LINK_POINTS);
    for (int i = 0; i < n; i++) {
        const pl_point *p = &point[i];
        if (!(p->bytes > 0) || !(p->seconds > 0) || !isfinite(p->bytes) || !isfinite(p->seconds))
            return pl_err_set(err, PL_EINPUT, "point %d: %g bytes in %g s; both are above 0", i + 1,
                              p->bytes, p->seconds);
        if (i && p->bytes <= p[-1].bytes)
            return pl_err_set(err, PL_EINPUT,
                              "point %d: %g bytes after %g; points ascend by their bytes", i + 1,
                              p->bytes, p[-1].bytes);
    }
    return true;
}
