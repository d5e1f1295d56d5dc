/* One attention head for tests: interleaved in memory with others, as in a model. All memory
 * that is not the head's own holds NaN, so reading it, or not writing an output, shows in the
 * results. */
#ifndef LINNET_TEST_ATTENTION_CASE_H
#define LINNET_TEST_ATTENTION_CASE_H

#include "src/attention/attention.h"

enum { HEADS = 2 };

typedef enum Buffer {
    QKV,
    GATES,
    RATES,
    PARAMS,
    OUT,
    DOUT,
    BONUS,
    DBONUS,
    SAVED,
    SCRATCH,
    STEP_SCRATCH,
    START, /* the carried state */
    STATE,
    DQKV,
    DGATES,
    DRATES,
    DPARAMS,
    BUFFERS
} Buffer;

typedef struct Case {
    const AttentionKind *kind;
    AttentionHead head, decoder;
    size_t gates, rates, param_count;
    bool carries;
    real *memory[BUFFERS];
    size_t count[BUFFERS];
    real *angles; /* (T, D) */
} Case;

typedef struct Variant {
    size_t length, width; /* width: C / H */
    size_t index;         /* of the head: 0 or 1 */
    const AttentionOptions *options;
    bool rotary, dropout, carries;
} Variant;

enum { OPTION_SETS = 4 };
extern const AttentionOptions case_options[OPTION_SETS];

/* Options for short sequences make long ones very slow; so do sanitizers. */
bool case_is_quick(const Case *c);

Case case_make(const AttentionKind *kind, Variant variant);
void case_free(Case *c); /* checks the guards too */

/* Calls the test for every size and set of options, with and without angles, dropout and a
 * carried state, if the kind of this index supports them. */
void case_for_every(int kind, void (*test)(Case *c));

/* In QKV, `which` counts q, the keys, then the values of a position. */
size_t case_parts(const Case *c);
/* How many heads have columns of their own, and the width of these. */
size_t case_heads(const Case *c, Buffer buffer, size_t which);
size_t case_width(const Case *c, Buffer buffer, size_t which);
/* The head's columns in rows that all heads share. */
real *case_columns(const Case *c, Buffer buffer, size_t which);
/* Draws new inputs. */
void case_draw(Case *c, uint64_t seed);
/* The arguments of a kind's functions, for the rows from `row` on. */
AttentionData case_data(const Case *c, size_t row);

void case_start_state(Case *c);
/* Runs the rows [from, end) of a sequence, after the earlier ones. */
void case_forward_part(Case *c, size_t from, size_t end);
void case_forward(Case *c);
/* Parameter gradients accumulate: they start at 1. */
void case_backward(Case *c);

/* Fails if something wrote behind a buffer. */
void case_check_guards(const Case *c);

#endif
