/* RoPE for kinds that rotate q and k themselves. The angles are a row of head->rotary; a
 * decoding step has only row 0. */
#ifndef LINNET_TURNED_H
#define LINNET_TURNED_H

#include "src/attention/attention.h"
#include "src/layers/rotary.h"
#include "src/math/vector.h"

static inline void turn(real *x, size_t angles, const AttentionHead *head)
{
    if (head->rotary)
        rotary_turn(x, head->rotary + angles * head->width, head->width, false);
}

static inline void turn_back(real *x, size_t angles, const AttentionHead *head)
{
    if (head->rotary)
        rotary_turn(x, head->rotary + angles * head->width, head->width, true);
}

static inline void turned_copy(real *to, const real *x, size_t angles,
                               const AttentionHead *head)
{
    memcpy(to, x, head->width * sizeof(real));
    turn(to, angles, head);
}

#endif
