/* The families of models that Hugging Face transformers knows and linnet computes: one row of
 * a table each, with which models belong to it, how its config.json and its tensors are named
 * and laid out, in transformers and in llama.cpp. Export and import read the same rows.
 *
 * linnet stores a linear layer as (in, out), as GPT-2 does; the others store (out, in). A
 * matrix of linnet's may be several tensors of theirs: queries, keys and values, or the two
 * inputs of SwiGLU. */
#ifndef LINNET_FAMILY_H
#define LINNET_FAMILY_H

#include "models/model.h"

typedef enum FamilyLayout {
    FAMILY_PLAIN,      /* as in linnet */
    FAMILY_TRANSPOSED, /* (out, in) */
    FAMILY_GROUPED,    /* (out, in) of keys or values, whose heads several queries share */
    FAMILY_ROTATED,    /* (out, in) of queries, keys and values: in each head of the first two
                          the features that RoPE rotates stand in front of the others */
    FAMILY_FUSED,      /* that, with queries, keys and values side by side in each head */
    FAMILY_PAIRED      /* (out, in) whose features RoPE rotates in pairs (2i, 2i+1) */
} FamilyLayout;

/* The weight and the bias of a layer: a share of the columns of linnet's. */
typedef struct FamilyPart {
    const char *linnet, *foreign; /* names, in a layer without the prefix of the layer */
    FamilyLayout layout;
    size_t part, parts; /* which share of the columns */
} FamilyPart;

/* How files store the tensors of a model. */
typedef struct FamilyForm {
    const char *prefix;      /* stands before all names but the head's; may be missing */
    const char *layer;       /* stands before the number of a layer */
    const char *head;        /* what names of the output head begin with */
    const FamilyPart *parts; /* up to one without a name; NULL: linnet's names and layouts */
    bool positions, biases;  /* learned positions, or biases, are always there */
    bool untied;             /* an output head is always there */
} FamilyForm;

extern const FamilyForm family_plain_form; /* of linnet's checkpoints */

/* A key of config.json and the option that it sets. */
typedef struct ConfigKey {
    const char *key, *option;
    const char *fallback; /* if the key is missing or null; NULL: it is needed */
} ConfigKey;

/* A key of config.json that must have this value, or be missing or null. */
typedef struct ConfigMust {
    const char *key;
    bool value;
    const char *reason;
} ConfigMust;

typedef struct Family {
    const char *type;      /* "model_type" in config.json */
    const char *class;     /* in transformers */
    const char *llama_cpp; /* its architecture in llama.cpp */
    FamilyForm form, gguf;
    /* Endings of tensors that older versions saved although they hold no weights. */
    const char *buffers[4];
    /* Which models: with RoPE, of all features of a head; with RMSNorm; with SwiGLU; and
     * whether attention and MLP may be parallel. */
    bool rotary, whole_rotary, rms_norm, gated, parallel;
    bool grouped; /* queries may share heads of keys and values */
    ConfigKey keys[14];
    ConfigMust musts[4];
    const char *rope_base, *rope_share; /* keys at the top of config.json, for RoPE */
    double usual_share;                 /* of the features, if config.json has none */
} Family;

/* The tensors of linnet's own files, and those of a model_type; NULL if it is unknown. */
extern const Family family_linnet;
const Family *family_find(const char *type);
const Family *family_at(size_t index); /* NULL after the last */

/* The family whose class in transformers, or whose architecture in llama.cpp, computes the
 * model; else NULL, and `lacks` names a part that the nearest does not have. */
const Family *family_of(const ModelConfig *config, Error *lacks);
const Family *family_of_llama_cpp(const ModelConfig *config, Error *lacks);

/* The name of an activation of linnet's in config.json, and back; NULL if there is none with as
 * many inputs as the family's. */
const char *family_activation_foreign(const Family *family, const char *linnet);
const char *family_activation_linnet(const Family *family, const char *foreign);

/* Whether a tensor of the family's files holds no weights. */
bool family_is_buffer(const Family *family, const char *name);

/* ---- Tensors: family_tensors.c ---- */

/* The model whose tensors the files have: this one, with what is always there. */
ModelConfig family_form_config(const FamilyForm *form, const ModelConfig *config);

/* What the layout of a tensor depends on. */
typedef struct FamilySizes {
    size_t heads, key_heads; /* of queries; of keys and values, which divides it */
    size_t width;            /* of a head */
    size_t pairs;            /* of features that RoPE rotates */
} FamilySizes;

FamilySizes family_sizes(const ModelConfig *config);

enum { FAMILY_MOST_PARTS = 3, FAMILY_NAME = 128 };

typedef struct FamilyTensor {
    char name[FAMILY_NAME]; /* without the prefix */
    bool prefixed;          /* whether the prefix stands before it */
    FamilyLayout layout;
    size_t rank, shape[2];        /* in the file */
    size_t rows, column, columns; /* the share of linnet's tensor */
    size_t stride;                /* columns of linnet's tensor */
    FamilySizes sizes;
} FamilyTensor;

/* The tensors that a tensor of linnet's is in files; returns how many, 0 if there is none. */
size_t family_tensors(FamilyTensor tensors[FAMILY_MOST_PARTS], const FamilyForm *form,
                      const ParamRow *row, const FamilySizes *sizes);

/* Copies the values of a tensor in a file (its shape) to their places in linnet's (rows,
 * stride), or back. */
void family_read(const FamilyTensor *tensor, real *linnet, const real *foreign);
void family_write(const FamilyTensor *tensor, const real *linnet, real *foreign);

#endif
