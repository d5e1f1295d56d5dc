/* The list of attention kinds, in the order in which they are shown, grouped by their idea; and
 * the files of their rows. */
#include "src/attention/attention.h"

enum { MOST = 11 };

/* clang-format off */
static const struct {
    const char *idea;
    const AttentionKind *kinds[MOST];
} groups[] = {
    {"Softmax over the whole past", /* softmax.c */
     {&attention_softmax, &attention_softmax1, &attention_fox}},
    {"Softmax over a part of the past", /* sparse.c, reformer.c */
     {&attention_window, &attention_strided, &attention_fixed, &attention_reformer}},
    {"Softmax with summaries: the near past in full, earlier blocks compressed",
     /* linformer.c, nystrom.c */
     {&attention_linformer, &attention_pooled, &attention_nystrom}},
    {"Linear attention: sums over the past of products of features",
     /* linear.c: up to efficient; taylor.c, performer.c, hedgehog.c */
     {&attention_linear, &attention_relu, &attention_sqrelu, &attention_exp,
      &attention_softmaxfeat, &attention_efficient, &attention_taylor, &attention_taylor2,
      &attention_performer, &attention_hedgehog}},
    {"Decay: a recurrent state that fades", /* gated.c, mamba.c */
     {&attention_retention, &attention_gated, &attention_mamba2, &attention_mamba3,
      &attention_gla, &attention_hgrn2}},
    {"Delta rule: a recurrent state whose entries are replaced",
     /* delta.c: one decay per head; delta_rowwise.c: kda, gdn2; rwkv7.c */
     {&attention_delta, &attention_gated_delta, &attention_comba, &attention_deltaproduct,
      &attention_kda, &attention_gdn2, &attention_rwkv7}},
};
/* clang-format on */

const AttentionKind *attention_find(size_t index)
{
    for (size_t group = 0, kind = 0; group < sizeof groups / sizeof *groups; group++, kind = 0)
        for (; kind < MOST && groups[group].kinds[kind]; kind++)
            if (index-- == 0)
                return groups[group].kinds[kind];
    return NULL;
}

const char *attention_name(size_t index)
{
    const AttentionKind *kind = attention_find(index);
    return kind ? kind->name : NULL;
}

const char *attention_cost(const AttentionKind *kind)
{
    return kind->cost ? kind->cost : "D^2";
}

const char *attention_group(size_t index)
{
    for (size_t group = 0; group < sizeof groups / sizeof *groups; group++)
        if (groups[group].kinds[0] == attention_find(index))
            return groups[group].idea;
    return NULL;
}
