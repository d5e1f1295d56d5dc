/* Work that layers do row by row, on the thread team. */
#ifndef LINNET_LAYERS_ROWS_H
#define LINNET_LAYERS_ROWS_H

#include <stddef.h>

typedef void RowWork(const void *job, size_t row);

/* Rows of a tile in most layers. */
#define ROWS_TILE ((size_t)64)

/* Calls `work` for every row. A tile, which one thread takes, has `tile_rows` rows. */
void rows_run(size_t rows, size_t tile_rows, RowWork *work, const void *job);

#endif
