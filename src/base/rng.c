/* Philox4x32-10, a counter-based generator: pl_rng_block() makes four words out of key and
 * counter, and all else is made of those. */
#include "base/rng.h"

#include <math.h>

/* Constants of Philox4x32 (Salmon et al. 2011, table 2). */
#define M0 0xD2511F53u
#define M1 0xCD9E8D57u
#define W0 0x9E3779B9u
#define W1 0xBB67AE85u

pl_rng pl_rng_at(uint64_t seed, uint64_t stream)
{
    return (pl_rng){ { (uint32_t)seed, (uint32_t)(seed >> 32) },
                     { (uint32_t)stream, (uint32_t)(stream >> 32) } };
}

/* The finaliser of splitmix64 (Steele et al. 2014). */
uint64_t pl_rng_mix(uint64_t a, uint64_t b)
{
    uint64_t z = a + 0x9E3779B97F4A7C15u * (b + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t pl_rng_name(const char *text)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001B3u;
    return h;
}

void pl_rng_block(pl_rng r, uint64_t block, uint32_t out[4])
{
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32), c2 = r.stream[0], c3 = r.stream[1];
    uint32_t k0 = r.key[0], k1 = r.key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)M0 * c0, p1 = (uint64_t)M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += W0;
        k1 += W1;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

uint32_t pl_rng_u32(pl_rng r, uint64_t index)
{
    uint32_t w[4];
    pl_rng_block(r, index / 4, w);
    return w[index % 4];
}

double pl_rng_uniform(pl_rng r, uint64_t index)
{
    return pl_rng_u32(r, index) * 0x1p-32;
}

double pl_draw_uniform(pl_draw *d, uint64_t index)
{
    if (!d->begun || d->block != index / 4) pl_rng_block(d->rng, d->block = index / 4, d->word);
    d->begun = true;
    return d->word[index % 4] * 0x1p-32;
}

void pl_rng_normals(pl_rng r, uint64_t block, double out[4])
{
    uint32_t w[4];
    pl_rng_block(r, block, w);
    for (int i = 0; i < 4; i += 2) { /* one pair of words gives two normals */
        double u = ((double)w[i] + 1) * 0x1p-32, v = w[i + 1] * 0x1p-32; /* u in (0, 1] */
        double radius = sqrt(-2 * log(u)), angle = 6.283185307179586 * v;
        out[i] = radius * cos(angle);
        out[i + 1] = radius * sin(angle);
    }
}

double pl_rng_normal(pl_rng r, uint64_t index)
{
    double four[4];
    pl_rng_normals(r, index / 4, four);
    return four[index % 4];
}

uint64_t pl_rng_below(pl_rng r, uint64_t index, uint64_t n)
{
    uint32_t w[4];
    pl_rng_block(r, index, w);
    uint64_t x = (uint64_t)w[0] << 32 | w[1];
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)x * n >> 64);
}

/* -- Zipf's law -------------------------------------------------------------------------------- */

/* The integral of x^-s from 1 on, and its inverse. */
static double zipf_area(double s, double x)
{
    const double l = log(x);
    return fabs(1 - s) < 1e-9 ? l : expm1((1 - s) * l) / (1 - s);
}

static double zipf_at(double s, double area)
{
    if (fabs(1 - s) < 1e-9) return exp(area);
    return exp(log1p(fmax((1 - s) * area, -1)) / (1 - s));
}

pl_zipf pl_zipf_of(uint64_t n, double s)
{
    pl_zipf z = { .n = (double)n, .s = s };
    z.first = zipf_area(s, 1.5) - 1; /* the area below x = 1.5, with the whole of 1 */
    z.last = zipf_area(s, z.n + 0.5);
    z.near = 2 - zipf_at(s, zipf_area(s, 2.5) - pow(2, -s));
    return z;
}

/* 53 bits in (0, 1). */
static double uniform_of(const uint32_t word[2])
{
    return ((double)(word[0] >> 5) * 0x1p26 + (double)(word[1] >> 6) + 0.5) * 0x1p-53;
}

uint64_t pl_rng_zipf(pl_rng r, uint64_t index, const pl_zipf *z)
{
    enum { BLOCKS = 32 }; /* hardly ever are two needed */
    uint32_t word[4];
    double k = 1;
    for (uint64_t t = 0; t < 2 * BLOCKS; t++) {
        if (t % 2 == 0) pl_rng_block(r, index + (t / 2 << 56), word);
        const double area = z->last + uniform_of(word + t % 2 * 2) * (z->first - z->last),
                     x = zipf_at(z->s, area);
        k = fmin(fmax(floor(x + 0.5), 1), z->n);
        if (k - x <= z->near || area >= zipf_area(z->s, k + 0.5) - pow(k, -z->s)) break;
    }
    return (uint64_t)k - 1;
}
