#include "data/album.h"

#include "base/file.h"

void pl_album_free(pl_album_pair *pair)
{
    pl_albums *of[] = { &pair->train, &pair->valid };
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < of[i]->n; k++) pl_file_unmap(of[i]->at[k].map, of[i]->at[k].map_bytes);
    *pair = (pl_album_pair){ 0 };
}
