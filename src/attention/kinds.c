/* The list of attention kinds, in the order in which they are shown. */
#include "src/attention/attention.h"

static const AttentionKind *const kinds[] = {
    &attention_softmax, &attention_softmax1, &attention_fox,         &attention_window,
    &attention_strided, &attention_fixed,    &attention_reformer,    &attention_linformer,
    &attention_pooled,  &attention_nystrom,  &attention_linear,      &attention_relu,
    &attention_sqrelu,  &attention_exp,      &attention_softmaxfeat, &attention_efficient,
    &attention_taylor,  &attention_taylor2,  &attention_performer,   &attention_retention,
    &attention_gated,   &attention_mamba2,   &attention_mamba3,      &attention_gla,
    &attention_hgrn2,   &attention_delta,    &attention_gated_delta, &attention_comba,
    &attention_kda,     &attention_gdn2,     &attention_rwkv7,
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
