/* Work that layers do row by row, on the thread team. */
#ifndef LINNET_LAYERS_ROWS_H
#define LINNET_LAYERS_ROWS_H

#include <stddef.h>

typedef void RowWork(const void *job, size_t row);

/* Does the work for every row, in tiles of so many rows. */
void rows_run(size_t rows, size_t tile_rows, RowWork *work, const void *job);

#endif
