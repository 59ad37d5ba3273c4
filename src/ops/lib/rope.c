/* Angles of rotary positions, plain and stretched to more positions than a model was trained for.
 *
 * A pair with angle w turns L w / 2 pi times within the L positions of the training. Those that
 * turn often are left as they are, those that turn less than once are slowed by the factor, as
 * positions beyond L would show them angles that they have never seen; between the two the factor
 * fades in: for llama3 linearly in the turns, for YaRN linearly in the pair's number.
 * Source: Su et al., RoFormer, 2021; Chen et al., "Extending context window by positional
 * interpolation", 2023; Peng et al., YaRN, 2023, section 3; Ding et al., LongRoPE, 2024 (a factor
 * of each pair); the code published with Llama 3.1 (llama3). */
#include "ops/lib/rope.h"

#include <math.h>

int64_t pl_rope_pairs(const pl_node *n, int64_t d)
{
    int64_t part = pl_node_int(n, "part", 0);
    return (part ? part : d) / 2;
}

/* The number of the pair, of all of them, that turns so many times within the training. */
static double find_pair(const pl_node *n, double turns, int64_t pairs)
{
    double original = pl_node_real(n, "original", 0), base = pl_node_real(n, "base", 0);
    return (double)pairs * log(original / (turns * 2 * M_PI)) / log(base);
}

static double between_0_and_1(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* 1: the pair keeps its angle; 0: all of the factor is for it. */
static double kept(const pl_node *n, int64_t i, int64_t pairs, double angle)
{
    double low = pl_node_real(n, "low", 0), high = pl_node_real(n, "high", 0);
    if (pl_node_is(n, "scaling", "llama3")) {
        double turns = pl_node_real(n, "original", 0) * angle / (2 * M_PI);
        return between_0_and_1((turns - low) / (high - low));
    }
    if (!pl_node_is(n, "scaling", "yarn")) return 0;
    double first = find_pair(n, high, pairs), last = find_pair(n, low, pairs);
    if (pl_node_int(n, "truncate", 0)) first = floor(first), last = ceil(last);
    first = fmax(first, 0), last = fmin(last, (double)(2 * pairs - 1));
    if (!(last > first)) last = first + 0.001; /* as the published code has it */
    return 1 - between_0_and_1(((double)i - first) / (last - first));
}

double pl_rope_angle(const pl_node *n, int64_t i, int64_t pairs)
{
    double w = pow(pl_node_real(n, "base", 0), -(double)i / (double)pairs);
    double k = kept(n, i, pairs, w);
    return k * w + (1 - k) * w / pl_node_real(n, "factor", (int)i);
}
