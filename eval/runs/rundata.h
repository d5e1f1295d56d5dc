/* The data of a training run that comparisons need.
 *
 * Reads only settings.conf, log.csv and, if present, scores.csv, none of which is trusted: the
 * directory may come from another machine, version or program. Checkpoints are not read, so
 * runs can be compared while they train; of a checkpoint that is open anyway, the settings can
 * be had without the directory. */
#ifndef LINNET_RUNDATA_H
#define LINNET_RUNDATA_H

#include "eval/runs/runlog.h"
#include "eval/runs/scores.h"
#include "models/checkpoint.h"

#define RUN_SETTINGS "settings.conf"
#define RUN_LOG      "log.csv"
/* Comments of the settings that tell where a run comes from; they are read like settings. */
#define RUN_ORIGIN   "origin"
#define RUN_TEACHER  "teacher"
#define RUN_EXTENDED "extended"
#define RUN_MATCHED  "matched"
#define RUN_MACHINE  "machine"

typedef struct RunSetting {
    char *name, *value;
} RunSetting;

typedef struct RunData {
    char *path, *name;    /* as given, and the name of the directory */
    RunSetting *settings; /* an array of stb_ds, in the order of the file */
    const char *attn;     /* of these; NULL if missing; so is corpus */
    const char *corpus;
    char *vocabulary;  /* its size and checksum; NULL: unknown */
    size_t parameters; /* 0: unknown; so are the steps of the whole run */
    size_t steps;
    size_t stop_step; /* where it was stopped last, 0: nowhere, and the seconds until then */
    double stop_seconds;
    size_t state;         /* bytes that decoding a sequence of the context length keeps; 0:
                           * unknown */
    double entropy_floor; /* lowest possible loss, nats per token; NaN: unknown */
    /* Bits per byte of one nat per token, of the training and the validation text; NaN:
     * unknown. */
    double train_bits, val_bits;
    double unknown;                   /* share of the validation tokens that are <unk> */
    size_t valid_tokens, part_tokens; /* of the validation text, and of the part that
                                       * validations read; 0: unknown, all */
    size_t valid_bytes;               /* of the validation text; 0: unknown */
    RunLogRow *rows;                  /* an array of stb_ds */
    RunScore *scores;                 /* an array of stb_ds; saved by eval */

    /* Computed from the rows; NaN without data. */
    size_t validations;
    double best_val_loss, best_epoch; /* of finite losses */
    size_t best_step;
    double best_accuracy; /* at that step; of synthetic tasks */
    bool best_is_part; /* measured on a part of the text. Otherwise, if validations read a part,
                        * it is that of the last weights on the whole text */
    double final_train_loss;  /* a NaN may be the loss of a diverged run */
    double tokens_per_second; /* the median */
    double seconds, tokens;   /* of the last row */
    double peak_mb;           /* the maximum */

    /* Set when it is compared with others; see groups.h. */
    const RunSetting *apart; /* of the setting whose values are compared apart; NULL: none */
    size_t identity;         /* for its colour: see palette.h */
    size_t scale;            /* runs whose losses compare have the same */
    bool by_bits; /* compared in bits per byte: other runs on this text have other tokens */
    /* The protocols of the test losses that runs of this scale are compared by, and, if
     * by_bits, of their test bits per byte; NULL: there are none. */
    const RunScore *test, *test_bits;
} RunData;

/* A run of this path of which nothing is known yet, and its settings: whoever adds some calls
 * rundata_settings_read after the last. */
RunData rundata_unknown(const char *path);
void rundata_add_setting(RunData *run, const char *name, const char *value);
void rundata_settings_read(RunData *run);

/* Bits per byte of a loss of one nat per token; NaN unless both counts are known. */
double rundata_bits_of_nat(size_t tokens, size_t bytes);

/* Reads a run directory; the caller frees the run with rundata_free, also after a failure. */
bool rundata_read(RunData *run, const char *path, Error *error);
void rundata_free(RunData *run);
/* The settings alone, from a checkpoint; none if training did not write it. */
bool rundata_read_checkpoint(RunData *run, const char *path, const Checkpoint *checkpoint,
                             Error *error);

/* A setting, as it stands last, and its value; NULL if there is none. */
const RunSetting *rundata_find(const RunData *run, const char *name);
const char *rundata_setting(const RunData *run, const char *name);
/* The value by which it is compared apart; "" without such a setting. */
const char *rundata_apart(const RunData *run);

/* The last row of the stage that matched attention outputs; NULL: there was none. */
const RunLogRow *rundata_last_match(const RunData *run);

/* The name of the loss, and the loss, that became infinite, NaN or so large that its perplexity
 * means nothing; NULL: the run did not diverge. */
const char *rundata_divergence(const RunData *run, double *loss);
bool rundata_diverged(const RunData *run);

/* The run's score by the same protocol, if it is of the current best checkpoint; else NULL. */
const RunScore *rundata_score(const RunData *run, const RunScore *protocol, ScoreUnit unit);
/* A plain test score by the protocol that most of the runs share; NULL if there is none. */
const RunScore *rundata_shared_test(const RunData *runs, size_t count, ScoreUnit unit);

#endif
