/* How other programs name and lay out the tensors of a model: the families of models that
 * Hugging Face transformers knows and linnet computes. Export and import read the same table.
 *
 * linnet stores a linear layer as (in, out), as GPT-2 does; the others store (out, in). A
 * matrix of linnet's may be several tensors there: queries, keys and values, or the two inputs
 * of SwiGLU. */
#ifndef LINNET_FAMILY_H
#define LINNET_FAMILY_H

#include "models/model.h"

typedef enum FamilyLayout {
    FAMILY_PLAIN,      /* as here */
    FAMILY_TRANSPOSED, /* (out, in) */
    FAMILY_GROUPED,    /* (out, in) of keys or values, whose heads several queries share */
    /* (out, in), with queries, keys and values side by side in each head, and the features that
     * RoPE rotates in front of the others */
    FAMILY_FUSED
} FamilyLayout;

/* One tensor there: a share of the columns of a tensor here. */
typedef struct FamilyPart {
    const char *here, *there; /* names, in a layer without the prefix of the layer */
    FamilyLayout layout;
    size_t part, parts; /* which share of the columns */
} FamilyPart;

typedef struct Family {
    const char *type;         /* "model_type" in config.json */
    const char *architecture; /* the class in transformers */
    const char *prefix;       /* stands before all names but the head's; may be missing */
    const char *layer;        /* stands before the number of a layer */
    const char *head;         /* what names of the output head begin with */
    const FamilyPart *parts;  /* up to one without a name; NULL: linnet's own names */
    bool learns_positions, has_biases; /* always: its files have these tensors */
    /* Endings of tensors that older versions saved although they hold no weights. */
    const char *const *buffers;
} Family;

/* The tensors of linnet's own files, and those of a model_type; NULL if it is unknown. */
extern const Family family_linnet;
const Family *family_find(const char *type);
const Family *family_at(size_t index); /* NULL after the last */

/* The model whose tensors the family's files have: this one, with what the family always has.
 */
ModelConfig family_form(const Family *family, const ModelConfig *config);

/* The name of an activation of linnet's there, and back; NULL if the other does not have it. */
const char *family_activation_there(const char *here);
const char *family_activation_here(const char *there);

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
    size_t rank, shape[2];        /* there */
    size_t rows, column, columns; /* the share of the tensor here */
    size_t stride;                /* columns of the tensor here */
    FamilySizes sizes;
} FamilyTensor;

/* The tensors that a tensor of linnet's is there; returns how many, 0 if the family has none.
 */
size_t family_tensors(FamilyTensor tensors[FAMILY_MOST_PARTS], const Family *family,
                      const ParamRow *row, const FamilySizes *sizes);

/* Copies the values of a tensor there to their places here, or back. */
void family_take(const FamilyTensor *tensor, real *here, const real *there);
void family_give(const FamilyTensor *tensor, const real *here, real *there);

/* Whether a tensor of the family's files holds no weights. */
bool family_is_buffer(const Family *family, const char *name);

#endif
