/* Views: which pixels of the picture a pixel of the result is made of, and in which shares, is
 * found for each direction alone (find_taps); pl_view_render() then scales along rows, and those
 * along columns. */
#include "data/view.h"

#include <math.h>

static const float BLACK = -1;

pl_view pl_view_middle(const pl_picture *p, const pl_frame *frame)
{
    const double h = (double)p->height, w = (double)p->width;
    const double scale = fmin(h / (double)frame->height, w / (double)frame->width);
    pl_view v = { .height = scale * (double)frame->height, .width = scale * (double)frame->width };
    v.top = (h - v.height) / 2;
    v.left = (w - v.width) / 2;
    return v;
}

/* Pixels first[i] .. first[i] + n[i] - 1 make pixel i, with weights from most * i on. */
typedef struct taps {
    int64_t most, *first, *n;
    float *weight;
} taps;

/* [from, from + length) of `size` pixels become n. */
static taps find_taps(double from, double length, int64_t size, int64_t n, pl_arena *arena)
{
    const double scale = length / (double)n, radius = fmax(scale, 1);
    taps t = { .most = (int64_t)(2 * radius) + 3 };
    t.first = PL_NEW_N(arena, int64_t, n);
    t.n = PL_NEW_N(arena, int64_t, n);
    t.weight = PL_NEW_N(arena, float, n *t.most);
    for (int64_t i = 0; i < n; i++) {
        const double at = from + ((double)i + 0.5) * scale;
        int64_t lo = (int64_t)floor(at - radius), hi = (int64_t)ceil(at + radius);
        lo = lo < 0 ? 0 : lo < size ? lo : size - 1;
        hi = hi > size ? size : hi > lo ? hi : lo + 1;
        double sum = 0;
        float *w = t.weight + i * t.most;
        for (int64_t k = lo; k < hi; k++) {
            const double x = 1 - fabs((double)k + 0.5 - at) / radius;
            sum += w[k - lo] = (float)fmax(x, 0);
        }
        for (int64_t k = 0; k < hi - lo; k++) w[k] = (float)(sum > 0 ? w[k] / sum : k == 0);
        t.first[i] = lo;
        t.n[i] = hi - lo;
    }
    return t;
}

/* Row y of the picture, scaled to the frame's width: [width][channels]. */
static void scale_row(const pl_picture *p, int64_t y, const taps *t, int64_t width, float *to)
{
    for (int64_t x = 0; x < width; x++) {
        const float *w = t->weight + x * t->most;
        for (int c = 0; c < p->channels; c++) {
            const unsigned char *at =
                p->at + y * p->row + t->first[x] * p->column + (int64_t)c * p->plane;
            float sum = 0;
            for (int64_t k = 0; k < t->n[x]; k++) sum += w[k] * (float)at[k * p->column];
            *to++ = sum;
        }
    }
}

/* A pixel of `in` channels as one of `out`, normalised. */
static void put_pixel(const float *pixel, int in, int out, int64_t plane, float *to)
{
    static const float luma[] = { 0.299f, 0.587f, 0.114f };
    float grey = pixel[0];
    if (in > 1) grey = luma[0] * pixel[0] + luma[1] * pixel[1] + luma[2] * pixel[2];
    for (int c = 0; c < out; c++) to[c * plane] = (in == out ? pixel[c] : grey) / 127.5f - 1;
}

void pl_view_render(const pl_view *v, const pl_picture *p, const pl_frame *frame, float *to)
{
    const int64_t height = frame->height, width = frame->width, in = p->channels;
    const int64_t plane = frame->planar ? height * width : 1,
                  column = frame->planar ? 1 : frame->channels;
    pl_arena *tmp = pl_arena_new("view");
    const taps down = find_taps(v->top, v->height, p->height, height, tmp),
               across = find_taps(v->left, v->width, p->width, width, tmp);
    const int64_t first = down.first[0], last = down.first[height - 1] + down.n[height - 1];
    float *rows = PL_NEW_N(tmp, float, (last - first) * width * in), pixel[3] = { 0 };
    for (int64_t y = first; y < last; y++)
        scale_row(p, y, &across, width, rows + (y - first) * width * in);
    for (int64_t i = 0; i < height * width * frame->channels; i++) to[i] = BLACK;
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            const int64_t toy = y + v->down, tox = (v->flipped ? width - 1 - x : x) + v->right;
            if (toy < 0 || toy >= height || tox < 0 || tox >= width) continue;
            const float *w = down.weight + y * down.most;
            for (int c = 0; c < in; c++) {
                const float *at = rows + ((down.first[y] - first) * width + x) * in + c;
                pixel[c] = 0;
                for (int64_t k = 0; k < down.n[y]; k++) pixel[c] += w[k] * at[k * width * in];
            }
            put_pixel(pixel, (int)in, frame->channels, plane, to + (toy * width + tox) * column);
        }
    pl_arena_free(tmp);
}
