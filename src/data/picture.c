/* Pictures decoded. Both libraries end with an error here, however a file is damaged: libjpeg
 * through a jump out of its error handler (read_jpeg), libpng's simplified interface by itself
 * (read_png). */
#include "data/picture.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <jpeglib.h>
#include <jerror.h>
#include <png.h>

static const unsigned char jpeg_start[] = { 0xFF, 0xD8, 0xFF };
static const unsigned char png_start[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n' };

static bool begins(const void *file, size_t bytes, const void *with, size_t n)
{
    return bytes >= n && !memcmp(file, with, n);
}

static bool is_jpeg(const void *file, size_t bytes)
{
    return begins(file, bytes, jpeg_start, sizeof jpeg_start);
}

static bool is_png(const void *file, size_t bytes)
{
    return begins(file, bytes, png_start, sizeof png_start);
}

bool pl_picture_begins(const void *file, size_t bytes)
{
    return is_jpeg(file, bytes) || is_png(file, bytes);
}

/* Room for a picture whose channels lie side by side. */
static bool make_room(pl_picture *p, int64_t height, int64_t width, int channels, pl_arena *arena,
                      unsigned char **at, pl_err *err)
{
    if (height > PL_PICTURE_PIXELS / (width > 0 ? width : 1))
        return pl_err_set(err, PL_EINPUT,
                          "%lld x %lld pixels are more than the %d that are read: scale it down",
                          (long long)width, (long long)height, PL_PICTURE_PIXELS);
    *at = pl_arena_get(arena, (size_t)(height * width), (size_t)channels);
    *p = (pl_picture){ .height = height,
                       .width = width,
                       .channels = channels,
                       .at = *at,
                       .row = width * channels,
                       .column = channels,
                       .plane = 1 };
    return true;
}

/* -- JPEG -------------------------------------------------------------------------------------- */

enum { MOST_SCANS = 100 }; /* of a progressive file: usual are 10; more only cost time */

typedef struct jpeg {
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf out;
    char why[JMSG_LENGTH_MAX];
    unsigned char *line; /* of CMYK */
} jpeg;

_Noreturn static void give_up(j_common_ptr c)
{
    jpeg *j = c->client_data;
    c->err->format_message(c, j->why);
    longjmp(j->out, 1);
}

/* Of what libjpeg only warns of, a file that is cut short is no picture. */
static void hear_warning(j_common_ptr c, int level)
{
    if (level < 0 && c->err->msg_code == JWRN_JPEG_EOF) give_up(c);
}

static void count_scans(j_common_ptr c)
{
    jpeg *j = c->client_data;
    if (c->is_decompressor && ((j_decompress_ptr)c)->input_scan_number > MOST_SCANS) {
        snprintf(j->why, sizeof j->why, "more than %d scans", MOST_SCANS);
        longjmp(j->out, 1);
    }
}

/* Inks to light: Adobe's files, which is nearly all of them, have both inverted. */
static void take_inks(const jpeg *j, int64_t width, unsigned char *to)
{
    const int turn = j->d.saw_Adobe_marker ? 0 : 255;
    for (int64_t x = 0; x < width; x++)
        for (int c = 0; c < 3; c++)
            to[3 * x + c] =
                (unsigned char)((j->line[4 * x + c] ^ turn) * (j->line[4 * x + 3] ^ turn) / 255);
}

/* The header has been read. */
static bool read_lines(jpeg *j, pl_arena *arena, pl_picture *out, pl_err *err)
{
    const int in = j->d.num_components, channels = in == 1 ? 1 : 3;
    unsigned char *at = NULL;
    PL_TRY(make_room(out, j->d.image_height, j->d.image_width, channels, arena, &at, err));
    j->d.out_color_space = in == 1 ? JCS_GRAYSCALE : in == 4 ? JCS_CMYK : JCS_RGB;
    j->d.dct_method = JDCT_ISLOW; /* the same bits on every processor */
    j->line = pl_arena_get(arena, (size_t)out->width, 4);
    (void)jpeg_start_decompress(&j->d);
    while (j->d.output_scanline < j->d.output_height) {
        unsigned char *to = at + j->d.output_scanline * out->row, *line = in == 4 ? j->line : to;
        (void)jpeg_read_scanlines(&j->d, &line, 1);
        if (in == 4) take_inks(j, out->width, to);
    }
    (void)jpeg_finish_decompress(&j->d);
    return true;
}

static bool read_jpeg(const void *file, size_t bytes, pl_arena *arena, pl_picture *out, pl_err *err)
{
    jpeg *j = PL_NEW(arena, jpeg);
    bool ok = false;
    j->d.err = jpeg_std_error(&j->errors);
    j->errors.error_exit = give_up;
    j->errors.emit_message = hear_warning;
    j->d.client_data = j;
    if (!setjmp(j->out)) {
        jpeg_create_decompress(&j->d);
        j->progress.progress_monitor = count_scans;
        j->d.progress = &j->progress;
        jpeg_mem_src(&j->d, file, bytes);
        (void)jpeg_read_header(&j->d, TRUE);
        ok = read_lines(j, arena, out, err);
    } else {
        pl_err_set(err, PL_EINPUT, "not a whole JPEG: %s", j->why);
    }
    jpeg_destroy_decompress(&j->d);
    return ok;
}

/* -- PNG --------------------------------------------------------------------------------------- */

static bool read_pixels(png_image *png, pl_arena *arena, pl_picture *out, pl_err *err)
{
    const bool color = png->format & PNG_FORMAT_FLAG_COLOR;
    unsigned char *at = NULL;
    PL_TRY(make_room(out, png->height, png->width, color ? 3 : 1, arena, &at, err));
    png->format = color ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    return png_image_finish_read(png, &(png_color){ 0 }, at, (int32_t)out->row, NULL) ||
           pl_err_set(err, PL_EINPUT, "not a whole PNG: %s", png->message);
}

static bool read_png(const void *file, size_t bytes, pl_arena *arena, pl_picture *out, pl_err *err)
{
    png_image png = { .version = PNG_IMAGE_VERSION };
    if (!png_image_begin_read_from_memory(&png, file, bytes))
        return pl_err_set(err, PL_EINPUT, "not a whole PNG: %s", png.message);
    const bool ok = read_pixels(&png, arena, out, err);
    png_image_free(&png);
    return ok;
}

/* libpng says how many bytes there will be when it is asked to write to nowhere. */
bool pl_picture_encode(const pl_picture *p, pl_text *out, pl_err *err)
{
    png_image png = { .version = PNG_IMAGE_VERSION,
                      .width = (png_uint_32)p->width,
                      .height = (png_uint_32)p->height,
                      .format = p->channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB };
    png_alloc_size_t n = 0;
    PL_ASSERT(p->column == p->channels && p->plane == 1);
    pl_arena *tmp = pl_arena_new("png");
    bool ok = png_image_write_to_memory(&png, NULL, &n, 0, p->at, (int32_t)p->row, NULL);
    char *file = pl_arena_get(tmp, n + 1, 1);
    ok = ok && png_image_write_to_memory(&png, file, &n, 0, p->at, (int32_t)p->row, NULL);
    if (ok) pl_text_span(out, file, n);
    pl_arena_free(tmp);
    return ok || pl_err_set(err, PL_ERUN, "cannot make a PNG: %s", png.message);
}

bool pl_picture_decode(const void *file, size_t bytes, pl_arena *arena, pl_picture *out,
                       pl_err *err)
{
    if (is_jpeg(file, bytes)) return read_jpeg(file, bytes, arena, out, err);
    if (is_png(file, bytes)) return read_png(file, bytes, arena, out, err);
    return pl_err_set(err, PL_EINPUT, "neither a JPEG nor a PNG (%zu bytes)", bytes);
}
