#include "run/block.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

bool pl_block_new(size_t bytes, char **out, pl_err *err)
{
    void *p = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *out = NULL;
    if (p == MAP_FAILED)
        return pl_err_set(err, PL_ERUN, "%zu MiB of memory are not to be had: %s", bytes >> 20,
                          strerror(errno));
    madvise(p, bytes + HUGE_PAGE, MADV_HUGEPAGE);
    *out = p;
    return true;
}

void pl_block_free(char *block, size_t bytes)
{
    if (block) munmap(block, bytes + HUGE_PAGE);
}
