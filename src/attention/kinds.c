/* The list of attention kinds, in the order in which people are shown them. */
#include "src/attention/attention.h"

static const AttentionKind *const kinds[] = {
    &attention_softmax,
    &attention_linear,
};

const AttentionKind *attention_find(size_t index)
{
    return index < sizeof kinds / sizeof *kinds ? kinds[index] : NULL;
}

const char *attention_name(size_t index)
{
    const AttentionKind *kind = attention_find(index);
    return kind ? kind->name : NULL;
}
