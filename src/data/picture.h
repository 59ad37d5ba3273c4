/* data/picture.h - one picture as bytes, decoded from JPEG (libjpeg-turbo) or PNG (libpng), and
 * encoded as PNG. */
#ifndef PL_DATA_PICTURE_H
#define PL_DATA_PICTURE_H
#include "base/text.h"

/* Element (y, x, c), 0 .. 255, is at[y * row + x * column + c * plane]. */
typedef struct pl_picture {
    int64_t height, width;
    int channels; /* 1: grey; 3: red, green, blue */
    const unsigned char *at;
    int64_t row, column, plane; /* bytes */
} pl_picture;

/* The most pixels of a picture: what is larger is refused before it takes memory. */
enum { PL_PICTURE_PIXELS = 1 << 25 };

/* Are these the first bytes of a JPEG or a PNG? */
bool pl_picture_begins(const void *file, size_t bytes);

/* Decode a file that is in memory; its first bytes say what it is, not its name. Depths other than
 * 8 bits become 8, palettes and CMYK red, green, blue; what is transparent lies on black. `arena`
 * owns the bytes of the picture. Fails with PL_EINPUT, without the name of the file: neither kind,
 * damaged, cut short, or of more than PL_PICTURE_PIXELS pixels. */
PL_MUST_CHECK bool pl_picture_decode(const void *file, size_t bytes, pl_arena *arena,
                                     pl_picture *out, pl_err *err);

/* Append a picture whose channels lie side by side (column == channels, plane == 1), as the file of
 * a PNG of 8 bits. Fails with PL_ERUN and libpng's reason. */
PL_MUST_CHECK bool pl_picture_encode(const pl_picture *picture, pl_text *out, pl_err *err);

#endif
