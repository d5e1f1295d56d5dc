/* The settings of training, and their option rows. */
#ifndef LINNET_TRAIN_OPTIONS_H
#define LINNET_TRAIN_OPTIONS_H

#include "data/corpora/corpus.h"
#include "models/config.h"

/* The length of a training and the learning rate along it: what an extension can change. */
typedef struct Length {
    size_t epochs, steps; /* steps if they are not 0 */
    size_t schedule, cycles;
    double lr, lr_floor;
} Length;

typedef struct TrainOptions {
    Length length;
    char *corpus; /* the operand of the command line */
    char *init;   /* the run or checkpoint whose weights a new run starts from; NULL: none */
    size_t init_tokens;
    char *distill; /* the run or checkpoint that teaches; NULL: none */
    double distill_share, match_lr;
    char *convert; /* the run whose attention another kind replaces; NULL: none */
    size_t match_epochs, generation;
    size_t batch, accumulate, shards, warmup, seed;
    size_t optimizer, average;
    double weight_decay, embedding_decay, beta1, beta2, momentum, clip;
    double average_from, average_decay;
    size_t eval_every, eval_tokens, save_every, log_every, patience;
    size_t on_nan, nan_limit, precision;
    bool subwords;
} TrainOptions;

/* Weight averaging: an average of the weights often predicts better than the last weights. */
typedef enum AverageKind { AVERAGE_NONE, AVERAGE_TAIL, AVERAGE_EMA } AverageKind;

/* Whose tokenizer a run with --init has. settings_read resolves auto. */
typedef enum InitTokens { INIT_TOKENS_AUTO, INIT_TOKENS_RUN, INIT_TOKENS_TEXT } InitTokens;

/* On a NaN or infinite loss or gradient. */
typedef enum OnNan { ON_NAN_STOP, ON_NAN_SKIP } OnNan;

/* --stop-after: a number of steps, or a time. */
typedef struct StopAfter {
    size_t steps;
    double seconds; /* 0 (steps as well): no limit */
} StopAfter;

/* Options of this session, not of the run: never stored. */
typedef struct SessionOptions {
    char *run, *resume, *preset, *stop_after, *match_params;
    StopAfter stop; /* what stop_after says */
    size_t threads, max_mem, sample_every, batch_tokens, generations;
    double save_minutes;
    bool recompute, quiet, tensorboard, watch, dry_run, keep_teachers;
} SessionOptions;

/* What a resumed run had before the command line changed it; see Extension in view.h. */
typedef struct LengthBefore {
    bool changed; /* the number of epochs or steps */
    Length length;
    size_t patience;
} LengthBefore;

/* What --match-params asks for: a number of parameters, or that of another model. */
typedef struct Match {
    size_t parameters; /* 0: those of the model */
    ModelConfig model; /* whose vocabulary comes with the text */
} Match;

typedef struct Settings {
    ModelConfig model;
    Match match;
    CorpusOptions corpus;
    TrainOptions train;
    SessionOptions session;
    LengthBefore before;
} Settings;

/* The options of the program, in the order of its help; they point into *settings. */
Options settings_options(const Settings *settings);

/* The stored settings as a file of lines "name = value"; the caller frees. */
char *settings_text(const Settings *settings);

/* Whether they fit together, and no option on the command line is without effect. */
bool settings_check(const Settings *settings, const CommandLine *line, Error *error);

bool stop_after_read(StopAfter *stop, const char *text, Error *error);

#endif
