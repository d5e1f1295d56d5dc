#include "eval/score/scorer.h"

#include <stdlib.h>

void scorer_make(Scorer *scorer, const Model *model, const Protocol *protocol)
{
    *scorer = (Scorer){.protocol = *protocol};
    pass_make(&scorer->pass, model, protocol->batch, protocol->window, PASS_EVALUATE);
    pass_allocate(&scorer->pass, "scoring");
    scorer->buffer = memory_take(score_buffer_size(&scorer->pass), sizeof *scorer->buffer,
                                 "scoring");
}

void scorer_free(Scorer *scorer)
{
    free(scorer->buffer);
    pass_free(&scorer->pass);
}

Score scorer_score(Scorer *scorer, const CorpusSplit *split, const ScoreListener *listeners,
                   size_t listener_count)
{
    Windows windows = protocol_windows(&scorer->protocol, split);
    return score_windows(&scorer->pass, &windows, listeners, listener_count, scorer->buffer);
}
