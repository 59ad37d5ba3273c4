/* Files of pictures, for the tests of data that have some. */
#ifndef PL_TEST_DATA_PICTURES_H
#define PL_TEST_DATA_PICTURES_H
#include "base/file.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <jpeglib.h>
#include <png.h>
#include <sys/stat.h>
#include <zlib.h>

/* n elements of an IDX file of so many dimensions; `size` of the header, which may lie. */
static inline void write_idx(const char *path, bool compressed, int dims, const int64_t size[],
                             const unsigned char *at, size_t n)
{
    gzFile f = gzopen(path, compressed ? "wb" : "wbT");
    const unsigned char head[] = { 0, 0, 8, (unsigned char)dims };
    assert_non_null(f);
    assert_int_equal(gzwrite(f, head, 4), 4);
    for (int i = 0; i < dims; i++) {
        unsigned char dim[4];
        for (int k = 0; k < 4; k++) dim[k] = (unsigned char)(size[i] >> (24 - 8 * k));
        assert_int_equal(gzwrite(f, dim, 4), 4);
    }
    assert_int_equal(gzwrite(f, at, (unsigned)n), (int)n);
    assert_int_equal(gzclose(f), Z_OK);
}

static inline void write_file(const char *path, const void *at, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(at, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Channels: 1, 3, or 4 (with transparency). */
static inline void write_png(const char *path, int height, int width, int channels,
                             const unsigned char *at)
{
    png_image png = { .version = PNG_IMAGE_VERSION,
                      .width = (unsigned)width,
                      .height = (unsigned)height,
                      .format = channels == 1   ? PNG_FORMAT_GRAY
                                : channels == 3 ? PNG_FORMAT_RGB
                                                : PNG_FORMAT_RGBA };
    assert_true(png_image_write_to_file(&png, path, 0, at, 0, NULL));
}

/* Channels: 1, 3, or 4 (CMYK). */
static inline void write_jpeg(const char *path, int height, int width, int channels,
                              const unsigned char *at)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, f);
    c.image_width = (unsigned)width;
    c.image_height = (unsigned)height;
    c.input_components = channels;
    c.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 100, TRUE);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        unsigned char *line =
            (unsigned char *)(uintptr_t)(at + c.next_scanline * (unsigned)(width * channels));
        jpeg_write_scanlines(&c, &line, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    fclose(f);
}

#endif
