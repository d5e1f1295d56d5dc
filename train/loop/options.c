#include "train/loop/options.h"
#include "data/tokenizers/utf8.h"
#include "models/update.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "src/math/gemm.h"
#include "src/optim/schedule.h"
#include "src/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

#define TRAIN(name)   offsetof(TrainOptions, name)
#define SESSION(name) offsetof(SessionOptions, name)

/* The headings of the full help. */
#define TUNING    .section = "Fine-tuning"
#define OPTIMIZER .section = "Optimizer and schedule"
#define AVERAGING .section = "Weight averaging"
#define SAVING    .section = "Saving and logging"
#define FAILURE   .section = "Failure handling"
#define MACHINE   .section = "Machine"

static OPTION_NAMES(average_name, "none", "tail", "ema");
static OPTION_NAMES(on_nan_name, "stop", "skip");
static OPTION_NAMES(init_tokens_name, "auto", "run", "text");

/* clang-format off */
static const Option train_rows[] = {
    {.name = "corpus", OPTION_STRING("FILE", TRAIN(corpus), NULL), OPTION_STORED,
     .help = "the text; same as CORPUS without --corpus",
     .also = "data dataset data-path train-data train-file input-file text-file data-dir"},
    {.name = "init", OPTION_STRING("RUN", TRAIN(init), NULL), OPTION_FIXED,
     .help = "fine-tune the weights of this run or checkpoint; a new run starts with its model "
             "shape and tokenizer",
     .also = "finetune fine-tune pretrained from-pretrained init-weights warm-start "
             "pretrained-model load-weights init-checkpoint",
     .common = true},
    {.name = "init-tokens", OPTION_ONE_OF("WHOSE", TRAIN(init_tokens), init_tokens_name, "auto"),
     OPTION_FIXED, TUNING,
     .help = "tokenizer with --init: run keeps that of RUN, text learns a new one from CORPUS, "
             "and tokens with the same text keep their embeddings; auto: text if a tokenizer "
             "option is given, such as --tokens",
     .also = "resize-token-embeddings"},
    {.name = "distill", OPTION_STRING("RUN", TRAIN(distill), NULL), OPTION_STORED, TUNING,
     .help = "knowledge distillation: learn also from the predictions of this run or checkpoint "
             "(the teacher), which must have the same vocabulary",
     .also = "teacher teacher-model distillation"},
    {.name = "distill-share", OPTION_NUMBER(TRAIN(distill_share), 0, 1, "0.5"),
     OPTION_FIXED, TUNING,
     .help = "weight X of the teacher: gradients are those of (1 - X) cross-entropy + X "
             "KL(teacher || model)",
     .also = "distill-alpha kd-alpha kl-weight distillation-weight"},
    {.name = "generation", OPTION_WHOLE(TRAIN(generation), 1, 1000, "1"), OPTION_FIXED, TUNING,
     .help = "which generation of a chain this run is; --generations sets it"},
    {.name = "convert", OPTION_STRING("RUN", TRAIN(convert), NULL), OPTION_FIXED,
     .help = "convert this run to another attention kind (--attn); implies --init RUN and "
             "--distill RUN. Text and settings default to RUN's, with --epochs 3, a fifth of its "
             "--lr, --distill-share 1 and no dropout. Attention transfer "
             "(--match-epochs) comes first",
     .also = "linearize linearise t2r lolcats hedgehog-distill",
     .common = true},
    {.name = "match-epochs", OPTION_WHOLE(TRAIN(match_epochs), 0, 1e6, "1"),
     OPTION_FIXED, TUNING,
     .help = "attention transfer: in the first N of the --epochs of a conversion, only the new "
             "attention learns, to match the outputs of RUN's attention",
     .also = "attention-transfer attention-transfer-epochs"},
    {.name = "match-lr", OPTION_NUMBER(TRAIN(match_lr), 0, 100, "1e-2"), OPTION_FIXED, TUNING,
     .help = "peak learning rate of attention transfer"},
    {.name = "epochs", OPTION_WHOLE(TRAIN(length.epochs), 1, 1e6, "5"), OPTION_EXTENDED,
     .help = "passes over the training text",
     .also = "num-epochs num-train-epochs n-epochs max-epochs",
     .common = true},
    {.name = "steps", OPTION_WHOLE(TRAIN(length.steps), 0, 1e12, "0"), OPTION_EXTENDED,
     .help = "train for N steps instead of --epochs; 0: use --epochs",
     .also = "max-iters max-steps num-steps iterations num-iterations train-steps iters "
             "n-steps total-steps",
     .common = true},
    {.name = "batch", OPTION_WHOLE(TRAIN(batch), 1, 1e6, "16"), OPTION_FIXED,
     .help = "batch size in sequences; each has --context tokens",
     .also = "batch-size bsz per-device-train-batch-size train-batch-size micro-batch-size "
             "device-batch-size",
     .common = true},
    {.name = "accumulate", OPTION_WHOLE(TRAIN(accumulate), 1, 1e6, "1"),
     OPTION_FIXED, OPTIMIZER,
     .help = "gradient accumulation: batches per optimizer step",
     .also = "gradient-accumulation-steps grad-accum accumulate-grad-batches "
             "grad-accumulation-steps accum-steps"},
    {.name = "shards", OPTION_WHOLE(TRAIN(shards), 0, 1e6, "0"), OPTION_FIXED, MACHINE,
     .help = "data-parallel shards of a batch, which MPI ranks can share; the result "
             "depends on the shards alone, not on the ranks. 0: one per rank",
     .also = "world-size data-parallel"},
    {.name = "lr", OPTION_NUMBER(TRAIN(length.lr), 0, 100, "3e-3"), OPTION_EXTENDED,
     .help = "peak learning rate",
     .also = "learning-rate max-lr alpha-lr peak-lr",
     .common = true},
    {.name = "lr-floor", OPTION_NUMBER(TRAIN(length.lr_floor), 0, 1, "0"),
     OPTION_EXTENDED, OPTIMIZER,
     .help = "final learning rate as a fraction of --lr; 0.1 is a tenth of it",
     .also = "min-lr lr-min final-lr-frac end-lr min-learning-rate eta-min "
             "learning-rate-decay-frac"},
    {.name = "warmup", OPTION_WHOLE(TRAIN(warmup), 0, 1e9, "auto"), OPTION_FIXED, OPTIMIZER,
     .help = "linear warmup steps of the learning rate; auto: 200, but at most a tenth of the "
             "training, or with --convert of its shorter stage",
     .also = "warmup-steps warmup-iters warmup-iterations num-warmup-steps lr-warmup-steps"},
    {.name = "schedule", OPTION_ONE_OF("KIND", TRAIN(length.schedule), schedule_name, "trapezoid"),
     OPTION_EXTENDED, OPTIMIZER,
     .help = "learning-rate schedule after warmup; trapezoid (WSD) is constant, then "
             "linear to the floor",
     .also = "lr-schedule lr-scheduler lr-scheduler-type scheduler decay-lr lr-decay-style"},
    {.name = "cycles", OPTION_WHOLE(TRAIN(length.cycles), 0, 1000, "0"),
     OPTION_EXTENDED, OPTIMIZER,
     .help = "warm restarts after the schedule: the learning rate falls from --lr to the floor "
             "N times more, each time with a new optimizer state and in a sixth of the steps of "
             "the schedule; the weights at the ends of the schedule and of the cycles are averaged "
             "(SWA)",
     .also = "restarts num-cycles warm-restarts lr-num-cycles swa-cycles"},
    {.name = "weight-decay", OPTION_NUMBER(TRAIN(weight_decay), 0, 100, "0.1"),
     OPTION_FIXED, OPTIMIZER,
     .help = "weight decay of the matrices; biases, norms, gains, convolutions, head gates and "
             "the attention kinds' own parameters have none",
     .also = "wd decay l2 wdecay"},
    {.name = "embedding-decay", OPTION_NUMBER(TRAIN(embedding_decay), 0, 100, "1"),
     OPTION_FIXED, OPTIMIZER,
     .help = "weight decay of the embeddings and of the output matrix, as a fraction of "
             "--weight-decay; those of n-grams have all of it"},
    {.name = "subwords", OPTION_SWITCH(TRAIN(subwords), "no"), OPTION_FIXED, OPTIMIZER,
     .help = "in training, embeddings of tokens share vectors of the character n-grams in their "
             "text (fastText), so that rare words learn from words spelled alike; the trained "
             "model is as large as without",
     .also = "subword-embeddings char-ngrams fasttext character-ngrams"},
    {.name = "optimizer", OPTION_ONE_OF("KIND", TRAIN(optimizer), optimizer_name, "muon"),
     OPTION_FIXED, OPTIMIZER,
     .help = "optimizer; muon updates the blocks' matrices and leaves embeddings, norms "
             "and biases to AdamW",
     .also = "optim optimizer-type"},
    {.name = "momentum", OPTION_NUMBER(TRAIN(momentum), 0, 0.99999, "0.95"),
     OPTION_FIXED, OPTIMIZER,
     .help = "Muon momentum",
     .also = "muon-momentum"},
    {.name = "beta1", OPTION_NUMBER(TRAIN(beta1), 0, 0.99999, "0.9"), OPTION_FIXED, OPTIMIZER,
     .help = "AdamW beta1: decay of the running mean of gradients",
     .also = "adam-beta1 b1 betas"},
    {.name = "beta2", OPTION_NUMBER(TRAIN(beta2), 0, 0.99999, "0.95"), OPTION_FIXED, OPTIMIZER,
     .help = "AdamW beta2: decay of the running mean of squared gradients",
     .also = "adam-beta2 b2"},
    {.name = "clip", OPTION_NUMBER(TRAIN(clip), 0, 1e9, "1"), OPTION_FIXED, OPTIMIZER,
     .help = "gradient clipping: scale gradients down to this norm; 0: off",
     .also = "grad-clip gradient-clip max-grad-norm clip-grad clip-grad-norm "
             "gradient-clip-val grad-norm-clip gradient-clipping max-norm"},
    {.name = "average", OPTION_ONE_OF("KIND", TRAIN(average), average_name, "none"),
     OPTION_FIXED, AVERAGING,
     .help = "weight averaging: tail (SWA, the mean of the weights at every step from "
             "--average-from on) or ema (EMA, exponential moving average); validated and saved "
             "instead of the weights",
     .also = "ema swa use-ema weight-averaging"},
    {.name = "average-from", OPTION_NUMBER(TRAIN(average_from), 0, 0.9999999, "0.8"),
     OPTION_FIXED, AVERAGING,
     .help = "start of weight averaging as a fraction of the training",
     .also = "swa-start ema-start"},
    {.name = "average-decay", OPTION_NUMBER(TRAIN(average_decay), 0, 0.9999999, "0.998"),
     OPTION_FIXED, AVERAGING,
     .help = "EMA decay per step; at most (1+n)/(10+n) after n steps, so that the start is "
             "soon forgotten",
     .also = "ema-decay ema-beta"},
    {.name = "seed", OPTION_WHOLE(TRAIN(seed), 0, OPTION_MOST, "1"), OPTION_FIXED,
     .help = "seed of all random numbers",
     .also = "random-seed manual-seed rng-seed",
     .common = true},
    {.name = "eval-every", OPTION_WHOLE(TRAIN(eval_every), 0, 1e12, "0"), OPTION_STORED, SAVING,
     .help = "validate every N steps, in addition to the end of each epoch",
     .also = "eval-interval eval-steps val-interval val-every val-loss-every eval-freq "
             "validation-interval"},
    {.name = "eval-tokens", OPTION_WHOLE(TRAIN(eval_tokens), 0, OPTION_MOST, "auto"),
     OPTION_FIXED, SAVING,
     .help = "validate on N tokens, the same at every validation: sequences evenly spread over "
             "the validation text; after the last step on all of it. 0: always on all. auto: "
             "12 % of the training tokens between two validations, about 4 % of the time, but "
             "at least 8192",
     .also = "eval-iters eval-batches max-eval-samples val-tokens limit-val-batches"},
    {.name = "save-every", OPTION_WHOLE(TRAIN(save_every), 0, 1e12, "0"), OPTION_STORED, SAVING,
     .help = "save a checkpoint every N steps, in addition to each validation",
     .also = "save-interval save-steps checkpoint-interval checkpoint-every ckpt-interval "
             "save-freq"},
    {.name = "log-every", OPTION_WHOLE(TRAIN(log_every), 1, 1e9, "20"), OPTION_STORED, SAVING,
     .help = "write a row of log.csv every N steps",
     .also = "log-interval logging-steps log-freq"},
    {.name = "patience", OPTION_WHOLE(TRAIN(patience), 0, 1e6, "0"), OPTION_STORED, OPTIMIZER,
     .help = "early stopping: end after N validations without improvement; 0: off",
     .also = "early-stopping early-stopping-patience"},
    {.name = "on-nan", OPTION_ONE_OF("WHAT", TRAIN(on_nan), on_nan_name, "stop"),
     OPTION_STORED, FAILURE,
     .help = "on a NaN or infinite loss or gradient: stop, or skip the step"},
    {.name = "nan-limit", OPTION_WHOLE(TRAIN(nan_limit), 1, 1e9, "10"), OPTION_STORED, FAILURE,
     .help = "stop after N skipped steps in a row"},
    {.name = "precision",
     OPTION_ONE_OF("KIND", TRAIN(precision), gemm_precision_name, "single"),
     OPTION_STORED, MACHINE,
     .help = "mixed precision: arithmetic of matrix products; weights stay fp32. single is "
             "fp32, bf16 needs AVX512_BF16 and is fastest with AMX and on AMD processors, pair is "
             "split bf16, close to fp32, for processors with AMX",
     .also = "dtype fp16 bf16 amp mixed-precision torch-dtype autocast"},
};

static const Option session_rows[] = {
    {.name = "run", OPTION_STRING("DIR", SESSION(run), NULL), .once = true,
     .help = "run directory (default: a new one in runs/)",
     .also = "out-dir output-dir save-dir checkpoint-dir out output save-path work-dir "
             "log-dir name exp-name run-name wandb-run-name",
     .common = true},
    {.name = "resume", OPTION_STRING("DIR", SESSION(resume), NULL), .once = true,
     .help = "continue the run or grid in this directory; a run ends bit-identical to one "
             "without a stop. With other --epochs or --steps it becomes longer or shorter, and "
             "the learning rate follows the schedule of the new length from there on (--lr, "
             "--lr-floor and --schedule may change, too)",
     .also = "resume-from resume-from-checkpoint init-from load checkpoint load-checkpoint "
             "restore",
     .common = true},
    {.name = "preset", OPTION_STRING("NAME", SESSION(preset), NULL), .once = true,
     .help = "settings from models/NAME.conf or a file; --preset help lists them",
     .also = "config config-file recipe cfg conf",
     .common = true},
    {.name = "generations", OPTION_WHOLE(SESSION(generations), 1, 1000, "1"), .once = true, TUNING,
     .help = "chain distillation (born-again networks): train N runs, each taught by the one before "
             "it (--distill), with seeds 100 apart",
     .also = "grid born-again self-distillation chain ban"},
    {.name = "keep-teachers", OPTION_SWITCH(SESSION(keep_teachers), "yes"), .once = true, TUNING,
     .help = "keep the checkpoints of a generation that has taught the next one; otherwise only its "
             "settings, log and scores"},
    {.name = "match-params", OPTION_STRING("WHICH", SESSION(match_params), NULL), .once = true,
     .help = "choose --ffn so that the model has as many parameters as one of this attention kind "
             "with the same settings, --ffn too, as this run, or as this number; settings.conf has "
             "the width that was found",
     .also = "grid match-parameters iso-params parameter-matched num-params n-params"},
    {.name = "batch-tokens", OPTION_WHOLE(SESSION(batch_tokens), 0, 1e9, "0"), .once = true,
     .help = "batch size in tokens in place of --batch: the same for all lengths of --context; "
             "0: use --batch",
     .also = "grid tokens-per-batch max-tokens total-batch-size batch-size-tokens"},
    {.name = "dry-run", OPTION_SWITCH(SESSION(dry_run), "no"), .once = true,
     .help = "print parameters, tokens, steps, memory and time of each run of a grid, or of the "
             "one run, and train nothing",
     .also = "grid plan estimate no-train"},
    {.name = "stop-after", OPTION_STRING("N", SESSION(stop_after), NULL), .once = true, SAVING,
     .help = "end this session after N steps or a time such as 90m, 2h or 25s; it is saved "
             "and can be resumed",
     .also = "grid max-time time-limit max-wall-time"},
    {.name = "save-minutes", OPTION_NUMBER(SESSION(save_minutes), 0, 1e6, "10"), SAVING,
     .help = "save a checkpoint when the last one is X minutes old; 0: off",
     .also = "checkpoint-minutes save-time train-time-interval"},
    {.name = "threads", OPTION_WHOLE(SESSION(threads), 0, 1024, "0"),
     .help = "CPU threads, as linnet uses no GPU; 0: one per processor. The result does not depend "
             "on it",
     .also = "num-threads n-threads cpus num-workers nproc jobs",
     .common = true},
    {.name = "max-mem", .argument = "MB", .type = OPTION_SIZE,
     .offset = SESSION(max_mem), .low = 0, .high = 1e9, .fallback = "0", MACHINE,
     .help = "refuse to start if more megabytes are needed; 0: 80 % of what is free",
     .also = "max-memory memory-limit"},
    {.name = "recompute", OPTION_SWITCH(SESSION(recompute), "no"), MACHINE,
     .help = "gradient checkpointing: recompute activations in the backward pass; "
             "slower, less memory, same result",
     .also = "gradient-checkpointing activation-checkpointing checkpoint-activations"},
    {.name = "sample-every", OPTION_WHOLE(SESSION(sample_every), 0, 1e9, "0"), SAVING,
     .help = "print a sample at every N-th validation, also to samples.txt; 0: never",
     .also = "sample-interval sample-steps generate-every"},
    {.name = "tensorboard", OPTION_SWITCH(SESSION(tensorboard), "no"), SAVING,
     .help = "write TensorBoard event files into the run directory, with the settings for "
             "its table of runs (HPARAMS)",
     .also = "tb hparams wandb wandb-log use-wandb report-to"},
    {.name = "watch", OPTION_SWITCH(SESSION(watch), "no"),
     .help = "full-screen view of curves and progress",
     .also = "dashboard tui",
     .common = true},
    {.name = "quiet", OPTION_SWITCH(SESSION(quiet), "no"), SAVING,
     .help = "print only warnings and errors",
     .also = "silent no-progress"},
};
/* clang-format on */

Options settings_options(const Settings *settings)
{
    return (Options){{config_group(&settings->model), corpus_group(&settings->corpus),
                      OPTION_GROUP("Training", train_rows, &settings->train),
                      OPTION_GROUP("Run", session_rows, &settings->session)}};
}

char *settings_text(const Settings *settings)
{
    const Options options = settings_options(settings);
    return options_write_text(&options);
}

/* --- checks --- */

/* Checkpoints store the settings as JSON, which is UTF-8; fail now rather than at the first
 * checkpoint. */
static bool check_names(const Settings *settings, Error *error)
{
    const char *names[] = {settings->train.corpus, settings->corpus.valid,
                           settings->corpus.test,  settings->corpus.tokenizer_file,
                           settings->train.init,   settings->train.distill};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (const char *c = names[i]; c && *c;) {
            size_t length = utf8_length(c, strlen(c));
            if (length == 0)
                return error_set(
                    error,
                    "%s: this file name is not UTF-8, and a checkpoint cannot store "
                    "it; rename the file",
                    names[i]);
            c += length;
        }
    return true;
}

/* Each shard has a sequence of the batch at least, and each rank a shard. */
static bool check_shards(const TrainOptions *train, Error *error)
{
    size_t ranks = ranks_count(), shards = train->shards ? train->shards : ranks;
    if (shards > train->batch)
        return error_set(
            error,
            "--shards %zu: more than the sequences of a batch (--batch %zu); give a "
            "larger --batch, fewer --shards, or start fewer ranks",
            shards, train->batch);
    if (shards < ranks)
        return error_set(
            error, "--shards %zu: fewer shards than the %zu ranks; start at most %zu ranks",
            shards, ranks, shards);
    return true;
}

/* Settings that contradict one another. */
static bool check_together(const Settings *settings, Error *error)
{
    const TrainOptions *train = &settings->train;
    bool cycles = train->length.cycles > 0;
    const struct {
        bool both;
        const char *one, *other;
    } pairs[] = {
        {cycles && train->average != AVERAGE_NONE, "--cycles",
         "--average, since they average the weights at their ends"},
        {cycles && train->patience > 0, "--cycles",
         "--patience, since the validation loss rises at the start of each cycle"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].both)
            return error_set(error, "%s cannot be combined with %s; omit one of them",
                             pairs[i].one, pairs[i].other);
    return true;
}

/* Refuses options on the command line that would have no effect. Presets may contain them. */
static bool check_effects(const Settings *settings, const CommandLine *line, Error *error)
{
    const TrainOptions *train = &settings->train;
    bool in_words = settings->corpus.tokenizer == TOKENIZER_WORD ||
                    settings->corpus.tokenizer == TOKENIZER_WORDPUNCT;
    bool is_constant = strcmp(schedule_name(train->length.schedule), "constant") == 0;
    const struct {
        const char *option;
        bool effective;
        const char *needs;
    } rules[] = {
        {"momentum", train->optimizer == OPTIMIZER_MUON, "--optimizer muon"},
        {"average-from", train->average == AVERAGE_TAIL || train->average == AVERAGE_EMA,
         "--average tail or ema"},
        {"average-decay", train->average == AVERAGE_EMA, "--average ema"},
        {"nan-limit", train->on_nan == ON_NAN_SKIP, "--on-nan skip"},
        {"lr-floor", train->length.cycles > 0 || !is_constant,
         "--cycles or a --schedule other than constant"},
        {"epochs", train->length.steps == 0,
         "--steps 0, since --steps decides when both are set"},
        {"ffn", settings->match.parameters == 0,
         "--match-params with an attention kind, whose width it then is"},
        {"qk-norm", !settings->model.qk_norm || settings->model.parts != PARTS_COMMON,
         "--parts authors, since --parts common has no QK-norm"},
        {"rope-base", settings->model.positions == POSITIONS_ROTARY, "--pos rotary"},
        {"rope-share", settings->model.positions == POSITIONS_ROTARY, "--pos rotary"},
        {"ngram-rows", settings->model.ngrams > 1, "--ngrams 2 or more"},
        {"ngram-dropout", settings->model.ngrams > 1, "--ngrams 2 or more"},
        {"init-tokens", train->init != NULL, "--init"},
        {"distill-share", train->distill || settings->session.generations > 1,
         "--distill or --generations"},
        {"keep-teachers", settings->session.generations > 1, "--generations"},
        {"match-epochs", train->convert != NULL, "--convert"},
        {"match-lr", train->convert && train->match_epochs > 0, "--convert and --match-epochs"},
        {"trim", !settings->corpus.trim || !in_words, "--tokens char, byte or bpe"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (command_line_value(line, rules[i].option) && !rules[i].effective)
            return error_set(error, "--%s has no effect here: it needs %s", rules[i].option,
                             rules[i].needs);
    return true;
}

bool settings_check(const Settings *settings, const CommandLine *line, Error *error)
{
    return check_names(settings, error) && check_together(settings, error) &&
           check_shards(&settings->train, error) && check_effects(settings, line, error);
}

bool stop_after_read(StopAfter *stop, const char *text, Error *error)
{
    static const char units[] = "smh";
    static const double seconds[] = {1, 60, 3600};
    *stop = (StopAfter){0};
    if (!text || !*text)
        return true;
    char *number = memory_copy_text(text), *last = number + strlen(number) - 1;
    const char *unit = strchr(units, *last);
    bool good;
    if (unit) {
        *last = '\0';
        good = text_to_double(number, &stop->seconds) && stop->seconds > 0;
        stop->seconds *= seconds[unit - units];
    } else {
        good = text_to_size(number, &stop->steps) && stop->steps > 0;
    }
    free(number);
    return good || error_set(error,
                             "--stop-after: '%s' is neither a number of steps nor a "
                             "time such as 30s, 90m, 2h",
                             text);
}
