/* data/view.h - how a picture becomes an input of a model: a window of it, scaled, turned, moved,
 * and its bytes as numbers. */
#ifndef PL_DATA_VIEW_H
#define PL_DATA_VIEW_H
#include "data/picture.h"

typedef struct pl_view {
    double top, left, height, width; /* window, in pixels of the picture                       */
    bool flipped;                    /* left and right change places                           */
    int64_t down, right;             /* then it moves by so many pixels of the result; what
                                        comes in is black                                      */
} pl_view;

/* What a model reads: height x width x channels, or channels first. */
typedef struct pl_frame {
    int64_t height, width;
    int channels; /* 1 or 3 */
    bool planar;  /* channels first */
} pl_frame;

/* The largest window with the proportions of the frame, in the middle of the picture. */
pl_view pl_view_middle(const pl_picture *picture, const pl_frame *frame);

/* The view as floats, row-major as the frame says: byte b is b / 127.5 - 1, that is (b / 255 - 0.5)
 * / 0.5. Grey fills all channels; of colours for a grey frame the luma is taken (ITU-R BT.601).
 * Scaling is bilinear; where pixels become fewer, each is the mean of all that it covers, weighted
 * by a triangle (as Pillow has it). A window of the frame's size is copied as it is. */
void pl_view_render(const pl_view *view, const pl_picture *picture, const pl_frame *frame,
                    float *to);

#endif
