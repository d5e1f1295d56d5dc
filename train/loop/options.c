#include "train/loop/options.h"
#include "data/vocabulary.h"
#include "models/update.h"
#include "src/gemm.h"
#include "src/optim/schedule.h"

#define TRAIN(name)   offsetof(TrainOptions, name)
#define SESSION(name) offsetof(SessionOptions, name)

static const char *average_name(size_t index)
{
    static const char *const names[] = {"none", "tail", "ema"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

static const char *on_nan_name(size_t index)
{
    static const char *const names[] = {"stop", "skip"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

/* clang-format off */
static const Option train_rows[] = {
    {.name = "corpus", .argument = "FILE", .type = OPTION_TEXT,
     .offset = TRAIN(corpus), .stored = true,
     .help = "the text; same as CORPUS without --corpus",
     .also = "data dataset data-path train-data train-file input-file text-file data-dir"},
    {.name = "epochs", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(epochs), .low = 1, .high = 1e6, .fallback = "5", .stored = true,
     .fixed = true,
     .help = "passes over the training text",
     .also = "num-epochs num-train-epochs n-epochs max-epochs",
     .common = true},
    {.name = "steps", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(steps), .low = 0, .high = 1e12, .fallback = "0", .stored = true,
     .fixed = true,
     .help = "train for N steps instead of --epochs; 0: use --epochs",
     .also = "max-iters max-steps num-steps iterations num-iterations train-steps iters "
             "n-steps total-steps",
     .common = true},
    {.name = "batch", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(batch), .low = 1, .high = 1e6, .fallback = "16", .stored = true,
     .fixed = true,
     .help = "batch size in sequences of --context tokens",
     .also = "batch-size bsz per-device-train-batch-size train-batch-size micro-batch-size "
             "device-batch-size",
     .common = true},
    {.name = "accumulate", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(accumulate), .low = 1, .high = 1e6, .fallback = "1", .stored = true,
     .fixed = true,
     .help = "gradient accumulation: batches per optimizer step",
     .also = "gradient-accumulation-steps grad-accum accumulate-grad-batches "
             "grad-accumulation-steps accum-steps",
     .section = "Optimizer and schedule"},
    {.name = "shards", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(shards), .low = 0, .high = 1e6, .fallback = "0", .stored = true,
     .fixed = true,
     .help = "data-parallel shards of a batch, which MPI ranks can share; the result "
             "depends on the shards alone, not on the ranks. 0: one per rank",
     .also = "world-size data-parallel",
     .section = "Machine"},
    {.name = "lr", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(lr), .low = 0, .high = 100, .fallback = "3e-3", .stored = true,
     .fixed = true,
     .help = "peak learning rate",
     .also = "learning-rate max-lr alpha-lr peak-lr",
     .common = true},
    {.name = "lr-floor", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(lr_floor), .low = 0, .high = 1, .fallback = "0", .stored = true,
     .fixed = true,
     .help = "final learning rate as a fraction of --lr; 0.1 is a tenth of it",
     .also = "min-lr lr-min final-lr-frac end-lr min-learning-rate eta-min "
             "learning-rate-decay-frac",
     .section = "Optimizer and schedule"},
    {.name = "warmup", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(warmup), .low = 0, .high = 1e9, .fallback = "auto", .stored = true,
     .fixed = true,
     .help = "linear warmup steps of the learning rate; auto: 200, but at most a tenth of "
             "the training",
     .also = "warmup-steps warmup-iters warmup-iterations num-warmup-steps lr-warmup-steps",
     .section = "Optimizer and schedule"},
    {.name = "schedule", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = TRAIN(schedule), .fallback = "trapezoid", .choice = schedule_name, .stored = true,
     .fixed = true,
     .help = "learning-rate schedule after warmup; trapezoid (WSD) is constant, then "
             "linear to the floor",
     .also = "lr-schedule lr-scheduler lr-scheduler-type scheduler decay-lr lr-decay-style",
     .section = "Optimizer and schedule"},
    {.name = "weight-decay", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(weight_decay), .low = 0, .high = 100, .fallback = "0.1", .stored = true,
     .fixed = true,
     .help = "weight decay of the matrices; biases, norms and gains have none",
     .also = "wd decay l2 wdecay",
     .section = "Optimizer and schedule"},
    {.name = "optimizer", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = TRAIN(optimizer), .fallback = "muon", .choice = optimizer_name,
     .stored = true, .fixed = true,
     .help = "optimizer; muon updates the blocks' matrices and leaves embeddings, norms "
             "and biases to AdamW",
     .also = "optim optimizer-type",
     .section = "Optimizer and schedule"},
    {.name = "momentum", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(momentum), .low = 0, .high = 0.99999, .fallback = "0.95",
     .stored = true, .fixed = true,
     .help = "Muon momentum",
     .also = "muon-momentum",
     .section = "Optimizer and schedule"},
    {.name = "beta1", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(beta1), .low = 0, .high = 0.99999, .fallback = "0.9", .stored = true,
     .fixed = true,
     .help = "AdamW beta1: decay of the running mean of gradients",
     .also = "adam-beta1 b1 betas",
     .section = "Optimizer and schedule"},
    {.name = "beta2", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(beta2), .low = 0, .high = 0.99999, .fallback = "0.95", .stored = true,
     .fixed = true,
     .help = "AdamW beta2: decay of the running mean of squared gradients",
     .also = "adam-beta2 b2",
     .section = "Optimizer and schedule"},
    {.name = "clip", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(clip), .low = 0, .high = 1e9, .fallback = "1", .stored = true,
     .fixed = true,
     .help = "gradient clipping: scale gradients down to this norm; 0: off",
     .also = "grad-clip gradient-clip max-grad-norm clip-grad clip-grad-norm "
             "gradient-clip-val grad-norm-clip gradient-clipping max-norm",
     .section = "Optimizer and schedule"},
    {.name = "average", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = TRAIN(average), .fallback = "none", .choice = average_name, .stored = true,
     .fixed = true,
     .help = "weight averaging: tail (SWA, the mean of the weights at every step from "
             "--average-from on) "
             "or ema (EMA, exponential moving average); validated and saved instead of the "
             "weights",
     .also = "ema swa use-ema weight-averaging",
     .section = "Weight averaging"},
    {.name = "average-from", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(average_from), .low = 0, .high = 1, .fallback = "0.8", .stored = true,
     .fixed = true,
     .help = "start of weight averaging as a fraction of the training",
     .also = "swa-start ema-start",
     .section = "Weight averaging"},
    {.name = "average-decay", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(average_decay), .low = 0, .high = 0.9999999, .fallback = "0.998",
     .stored = true, .fixed = true,
     .help = "EMA decay per step; at most (1+n)/(10+n) after n steps, so that the start is soon "
             "forgotten",
     .also = "ema-decay ema-beta",
     .section = "Weight averaging"},
    {.name = "streams", .type = OPTION_FLAG,
     .offset = TRAIN(streams), .fallback = "no", .stored = true, .fixed = true,
     .help = "read the text in order, each row of the batch its own stream, instead of in "
             "random order",
     .also = "no-shuffle sequential",
     .section = "Order of the text and stateful training"},
    {.name = "seed", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(seed), .low = 0, .high = OPTION_MOST, .fallback = "1", .stored = true,
     .fixed = true,
     .help = "seed of all random numbers",
     .also = "random-seed manual-seed rng-seed",
     .common = true},
    {.name = "eval-every", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(eval_every), .low = 0, .high = 1e12, .fallback = "0", .stored = true,
     .help = "validate every N steps, in addition to the end of each epoch",
     .also = "eval-interval eval-steps val-interval val-every val-loss-every eval-freq "
             "validation-interval",
     .section = "Saving and logging"},
    {.name = "save-every", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(save_every), .low = 0, .high = 1e12, .fallback = "0", .stored = true,
     .help = "save a checkpoint every N steps, in addition to each validation",
     .also = "save-interval save-steps checkpoint-interval checkpoint-every ckpt-interval "
             "save-freq",
     .section = "Saving and logging"},
    {.name = "log-every", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(log_every), .low = 1, .high = 1e9, .fallback = "20", .stored = true,
     .help = "write a row of log.csv every N steps",
     .also = "log-interval logging-steps log-freq",
     .section = "Saving and logging"},
    {.name = "patience", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(patience), .low = 0, .high = 1e6, .fallback = "0", .stored = true,
     .help = "early stopping: end after N validations without improvement; 0: off",
     .also = "early-stopping early-stopping-patience",
     .section = "Optimizer and schedule"},
    {.name = "on-nan", .argument = "WHAT", .type = OPTION_CHOICE,
     .offset = TRAIN(on_nan), .fallback = "stop", .choice = on_nan_name, .stored = true,
     .help = "on a NaN or infinite loss or gradient: stop, or skip the step",
     .section = "Failure handling"},
    {.name = "nan-limit", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(nan_limit), .low = 1, .high = 1e9, .fallback = "10", .stored = true,
     .help = "stop after N skipped steps in a row",
     .section = "Failure handling"},
    {.name = "precision", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = TRAIN(precision), .fallback = "single", .choice = gemm_precision_name,
     .stored = true,
     .help = "mixed precision: arithmetic of matrix products; weights stay fp32. single is "
             "fp32, bf16 is fastest where the processor has it (AVX512_BF16, AMX), pair is "
             "split bf16, close to fp32, for processors with AMX",
     .also = "dtype fp16 bf16 amp mixed-precision torch-dtype autocast",
     .section = "Machine"},
};

static const Option session_rows[] = {
    {.name = "run", .argument = "DIR", .type = OPTION_TEXT,
     .offset = SESSION(run),
     .help = "run directory (default: a new one in runs/)",
     .also = "out-dir output-dir save-dir checkpoint-dir out output save-path work-dir "
             "log-dir name exp-name run-name wandb-run-name",
     .common = true},
    {.name = "resume", .argument = "DIR", .type = OPTION_TEXT,
     .offset = SESSION(resume),
     .help = "continue the run in this directory, bit-identically",
     .also = "resume-from resume-from-checkpoint init-from load checkpoint load-checkpoint "
             "restore",
     .common = true},
    {.name = "preset", .argument = "NAME", .type = OPTION_TEXT,
     .offset = SESSION(preset),
     .help = "settings from models/NAME.conf or a file; --preset help lists them",
     .also = "config config-file recipe cfg conf",
     .common = true},
    {.name = "stop-after", .argument = "N", .type = OPTION_TEXT,
     .offset = SESSION(stop_after),
     .help = "end this session after N steps or a time such as 90m, 2h or 25s; it is saved "
             "and can be resumed",
     .also = "max-time time-limit max-wall-time",
     .section = "Saving and logging"},
    {.name = "threads", .argument = "N", .type = OPTION_SIZE,
     .offset = SESSION(threads), .low = 0, .high = 1024, .fallback = "0",
     .help = "CPU threads; 0: one per processor. The result does not depend on it",
     .also = "device num-threads n-threads cpus num-workers nproc gpus gpu cuda jobs",
     .common = true},
    {.name = "max-mem", .argument = "MB", .type = OPTION_SIZE,
     .offset = SESSION(max_mem), .low = 0, .high = 1e9, .fallback = "0",
     .help = "refuse to start if more megabytes are needed; 0: 80 % of what is free",
     .also = "max-memory memory-limit",
     .section = "Machine"},
    {.name = "recompute", .type = OPTION_FLAG,
     .offset = SESSION(recompute), .fallback = "no",
     .help = "gradient checkpointing: recompute activations in the backward pass; "
             "slower, less memory, same result",
     .also = "gradient-checkpointing activation-checkpointing checkpoint-activations",
     .section = "Machine"},
    {.name = "sample-every", .argument = "N", .type = OPTION_SIZE,
     .offset = SESSION(sample_every), .low = 0, .high = 1e9, .fallback = "0",
     .help = "print a sample at every N-th validation, also to samples.txt; 0: never",
     .also = "sample-interval sample-steps generate-every",
     .section = "Saving and logging"},
    {.name = "tensorboard", .type = OPTION_FLAG,
     .offset = SESSION(tensorboard), .fallback = "no",
     .help = "write TensorBoard event files into the run directory",
     .also = "tb wandb wandb-log use-wandb report-to",
     .section = "Saving and logging"},
    {.name = "watch", .type = OPTION_FLAG,
     .offset = SESSION(watch), .fallback = "no",
     .help = "full-screen view of curves and progress",
     .also = "dashboard tui",
     .common = true},
    {.name = "quiet", .type = OPTION_FLAG,
     .offset = SESSION(quiet), .fallback = "no",
     .help = "print only warnings and errors",
     .also = "silent no-progress",
     .section = "Saving and logging"},
};
/* clang-format on */

#define ROWS(rows) rows, sizeof rows / sizeof *rows

void settings_groups(Settings *settings, OptionGroup groups[GROUP_COUNT])
{
    groups[GROUP_MODEL] = (OptionGroup){"Model", model_option_rows, model_option_count,
                                        &settings->model};
    groups[GROUP_CORPUS] = (OptionGroup){"Text", corpus_option_rows, corpus_option_count,
                                         &settings->corpus};
    groups[GROUP_TRAIN] = (OptionGroup){"Training", ROWS(train_rows), &settings->train};
    groups[GROUP_SESSION] = (OptionGroup){"Run", ROWS(session_rows), &settings->session};
}
