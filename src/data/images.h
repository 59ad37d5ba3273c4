/* data/images.h - pictures with a label each as data, from any of
 *
 *   IDX      a file of pictures, such as MNIST's train-images-idx3-ubyte, plain or compressed by
 *            gzip, with its labels beside it (train-labels-idx1-ubyte), or the folder of both;
 *            what is called t10k or test in place of train validates
 *   CIFAR    a binary file of CIFAR-10 or CIFAR-100 (fine labels), or a folder of such .bin files,
 *            of which those with "test" in their names validate
 *   classes  a folder with a folder for each class, whose pictures are .jpg, .jpeg and .png files;
 *            labels count classes in the order of their names. Or a folder that has two of these,
 *            train, and val, valid, validation or test
 *
 * What a file is, its contents say. Where nothing is there to validate, the first part of the rows
 * trains (of every class, in the order of names) and the rest validates. Files of pictures are
 * decoded when a batch wants them, or some batches before (ahead.h): how many, and on how many
 * threads, follows how long that takes (congestion.h), measured on the clock from file to pixels,
 * beside the time from pl_images_check to when the next batch is asked for. Of their contents
 * only names and sizes are hashed (pl_data.hash). Sources: LeCun's MNIST page; Krizhevsky's CIFAR
 * page. */
#ifndef PL_DATA_IMAGES_H
#define PL_DATA_IMAGES_H
#include "data/augment.h"
#include "data/data.h"

typedef struct pl_images pl_images;

/* Is it one of these: a folder, or a file that begins as they do? False for what cannot be read. */
bool pl_images_are(const char *path);

/* Is it one picture a row, as an input takes them or an output gives them: f[rows,height,width,
 * channels] or channels first, of 1 or 3 channels? */
bool pl_images_frame(const pl_value *value, pl_frame *frame);

/* Open them for the inputs of n graphs: a picture, f[rows,height,width,channels] or channels first,
 * of 1 or 3 channels, and whole numbers [rows], its label, if they read one; with mixup also
 * "label2" and "share". `share` (0 < share < 1) of the rows trains where none are kept to
 * validate; in_order: as pl_data_rows_open. Fails with PL_EUNSUPPORTED: the inputs are others;
 * with PL_EINPUT, naming the file, all problems of it at once: unreadable, of none of these kinds,
 * of another size than it says, without its labels or with another number of them, labels that the
 * model does not have, classes without a picture. `arena` owns what the data do not. */
PL_MUST_CHECK bool pl_images_open(const char *path, double share, bool in_order, int n,
                                  const pl_graph *const graph[], const pl_augment *augment,
                                  pl_arena *arena, pl_data *out, pl_err *err);
void pl_images_free(pl_images *images);

/* As pl_data_fill. Of a file that is no picture the pixels are 0, and pl_images_check fails. */
void pl_images_fill(const pl_data *data, const pl_port *port, uint64_t seed, int64_t step,
                    int64_t n_valid, void *to);

/* Is asked when all that a run of a program reads is filled, and tells the loader so. Was every
 * picture of all fills so far one? Fails with PL_EINPUT, naming the first file that is none. */
PL_MUST_CHECK bool pl_images_check(pl_images *images, pl_err *err);

#endif
