/* Import: numbers of 16 bits, and how other programs name and lay out tensors. The directories
 * that are read and refused are tested by programs/import.sh, models of other programs by
 * interop. */
#include "models/exchange/family.h"
#include "src/base/text.h"
#include "tests/support.h"
#include "tests/tensor_files.h"
#include "tests/tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SUITE("import", TENSOR_FILE);

/* --- numbers --- */

enum { HALVES = 1 << 16 };

/* A tensor "h" with these numbers of 16 bits. */
static void put_halves(const char *type, const uint16_t *halves, size_t count)
{
    char *header = text_format(
        "{\"h\":{\"dtype\":\"%s\",\"shape\":[%zu],\"data_offsets\":[0,%zu]}}", type, count,
        count * sizeof *halves);
    uint64_t length = strlen(header);
    size_t size = sizeof length + length + count * sizeof *halves;
    char *bytes = memory_new(size, 1, "a test");
    memcpy(bytes, &length, sizeof length);
    memcpy(bytes + sizeof length, header, length);
    memcpy(bytes + sizeof length + length, halves, count * sizeof *halves);
    tensor_put_bytes(bytes, size);
    free(bytes);
    free(header);
}

static bool load_halves(const char *type, const uint16_t *halves, size_t count, real *values,
                        Error *error)
{
    SafetensorsFile file;
    put_halves(type, halves, count);
    ck_assert_msg(safetensors_open(&file, tensor_path, error), "%s", error->text);
    bool good = safetensors_load_reals(&file, "h", 1, &count, values, error);
    safetensors_close(&file);
    return good;
}

/* The value by the definition of the format. */
static double half_value(unsigned half, int exponent_bits)
{
    int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = (int)(half >> fraction_bits) & ((1 << exponent_bits) - 1);
    double fraction = half & ((1u << fraction_bits) - 1), sign = half >> 15 ? -1 : 1;
    return exponent == 0
               ? sign * ldexp(fraction, 1 - bias - fraction_bits)
               : sign * ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

static bool is_odd(unsigned half, int exponent_bits)
{
    unsigned all = ((1u << exponent_bits) - 1) << (15 - exponent_bits);
    return (half & all) == all;
}

static const struct {
    const char *name;
    int exponent_bits;
} half_types[] = {{"F16", 5}, {"BF16", 8}};

TEST(every_number_of_16_bits_is_read_exactly)
{
    static uint16_t halves[HALVES];
    static real values[HALVES];
    for (size_t type = 0; type < COUNT(half_types); type++) {
        size_t count = 0;
        Error error;
        for (unsigned half = 0; half < HALVES; half++)
            if (!is_odd(half, half_types[type].exponent_bits))
                halves[count++] = (uint16_t)half;
        ck_assert_msg(load_halves(half_types[type].name, halves, count, values, &error), "%s",
                      error.text);
        for (size_t i = 0; i < count; i++) {
            double wanted = half_value(halves[i], half_types[type].exponent_bits);
            ck_assert_msg((double)values[i] == wanted &&
                              (signbit(values[i]) != 0) == halves[i] >> 15,
                          "%s 0x%04x is %g, not %g", half_types[type].name, halves[i],
                          (double)values[i], wanted);
        }
    }
}

TEST(numbers_of_16_bits_that_are_not_finite_are_refused)
{
    for (size_t type = 0; type < COUNT(half_types); type++)
        for (unsigned half = 0; half < HALVES; half += 61) {
            const uint16_t halves[] = {0, (uint16_t)half};
            real values[2];
            Error error;
            bool odd = is_odd(half, half_types[type].exponent_bits);
            ck_assert(load_halves(half_types[type].name, halves, 2, values, &error) != odd);
            if (odd)
                ck_says(error, "NaN or infinity");
        }
}

TEST(other_types_of_numbers_are_refused)
{
    const uint16_t halves[] = {1, 2};
    real values[2];
    Error error;
    ck_assert(!load_halves("I16", halves, 2, values, &error));
    ck_says(error, "dtype I16; linnet reads F32, F16 and BF16");
}

/* --- families --- */

/* The settings of a model that the family computes. */
static ModelConfig config_of(const Family *family)
{
    static const struct {
        const char *type, *settings;
    } rows[] = {{"gpt2", "pos = learned\n"},
                {"gpt_neox", "pos = rotary\nrope-share = 0.5\ntied = no\n"},
                {"llama", "pos = rotary\nrms-norm = yes\nact = swiglu\ntied = no\n"}};
    static const char common[] = "layers = 2\ndim = 24\nheads = 3\nffn = 10\ncontext = "
                                 "4\nqk-norm = no\nhead-bias = no\n";
    ModelConfig config;
    const Options group = {{config_group(&config)}};
    Error error;
    options_set_defaults(&group);
    ck_assert(options_read_text(&group, common, "", &error));
    for (size_t i = 0; i < COUNT(rows); i++)
        if (strcmp(rows[i].type, family->type) == 0)
            ck_assert(options_read_text(&group, rows[i].settings, "", &error));
    config.vocabulary = 7;
    ck_assert_msg(config_check(&config, &error), "%s", error.text);
    return config;
}

static size_t count_of(const FamilyTensor *tensor)
{
    return tensor->shape[0] * (tensor->rank == 2 ? tensor->shape[1] : 1);
}

/* Moves all values of a row there and back. */
static void check_moves(const FamilyTensor *tensors, size_t count, const ParamRow *row)
{
    real *linnet = memory_new(row->count, sizeof *linnet, "a test"),
         *back = memory_new(row->count, sizeof *back, "a test");
    size_t moved = 0;
    for (size_t i = 0; i < row->count; i++)
        linnet[i] = (real)(i + 1);
    for (size_t part = 0; part < count; part++) {
        real *foreign = memory_new(count_of(&tensors[part]), sizeof *foreign, "a test");
        family_write(&tensors[part], linnet, foreign);
        family_read(&tensors[part], back, foreign);
        moved += count_of(&tensors[part]);
        free(foreign);
    }
    ck_assert_uint_eq(moved, row->count);
    ck_assert_msg(memcmp(linnet, back, row->count * sizeof *linnet) == 0, "%s", row->name);
    free(linnet);
    free(back);
}

/* Biases that Llama does not have are those of linear layers that it can have. */
static void check_form(const FamilyForm *form, const char *name, const ModelConfig *config)
{
    const FamilySizes sizes = family_sizes(config);
    ParamTable table;
    param_table_make(&table, config);
    for (size_t i = 0; i < table.count; i++) {
        FamilyTensor tensors[FAMILY_MOST_PARTS];
        size_t count = family_tensors(tensors, form, &table.rows[i], &sizes);
        ck_assert_msg(count > 0, "%s has no %s", name, table.rows[i].name);
        check_moves(tensors, count, &table.rows[i]);
    }
    param_table_free(&table);
}

TEST(every_tensor_of_a_family_goes_there_and_back)
{
    for (size_t f = 0; family_at(f); f++) {
        const Family *family = family_at(f);
        const ModelConfig config = config_of(family);
        check_form(&family->form, family->type, &config);
        check_form(&family->gguf, family->llama_cpp, &config);
    }
}

static FamilyTensor tensor_of(const char *type, const char *name, size_t rows, size_t columns,
                              const FamilySizes *sizes, size_t part)
{
    ParamRow row = {.rank = 2, .shape = {rows, columns}};
    FamilyTensor tensors[FAMILY_MOST_PARTS];
    strcpy(row.name, name);
    ck_assert_uint_gt(family_tensors(tensors, &family_find(type)->form, &row, sizes), part);
    return tensors[part];
}

/* Two heads of width 4, of which one pair of features rotates: features 0 and 2 in linnet, 0
 * and 1 in GPT-NeoX. Each head has its queries, keys and values side by side. */
TEST(neox_joins_the_parts_of_a_head_and_puts_rotating_features_first)
{
    enum { HEADS = 2, WIDTH = 4, ROWS = 3 * HEADS * WIDTH };
    static const int wanted[ROWS] = {0, 2, 1, 3, 8,  10, 9,  11, 16, 17, 18, 19,
                                     4, 6, 5, 7, 12, 14, 13, 15, 20, 21, 22, 23};
    const FamilySizes sizes = {HEADS, HEADS, WIDTH, 1};
    FamilyTensor tensor = tensor_of("gpt_neox", "h.0.attn.c_attn.weight", 1, ROWS, &sizes, 0);
    real linnet[ROWS], foreign[ROWS];
    for (int i = 0; i < ROWS; i++)
        linnet[i] = (real)i;
    family_write(&tensor, linnet, foreign);
    for (int i = 0; i < ROWS; i++)
        ck_assert_int_eq((int)foreign[i], wanted[i]);
    ck_assert_str_eq(tensor.name, "layers.0.attention.query_key_value.weight");
    ck_assert(tensor.prefixed && tensor.shape[0] == ROWS && tensor.shape[1] == 1);
}

/* Four queries share two heads of keys, of width 1, with two inputs. */
TEST(keys_that_queries_share_are_repeated)
{
    enum { IN = 2, HEADS = 4, KEYS = 2 };
    const FamilySizes sizes = {HEADS, KEYS, 1, 0};
    const real foreign[KEYS * IN] = {1, 2, 3, 4};
    const real wanted[IN][3 * HEADS] = {{0, 0, 0, 0, 1, 1, 3, 3}, {0, 0, 0, 0, 2, 2, 4, 4}};
    real linnet[IN][3 * HEADS] = {{0}};
    FamilyTensor tensor = tensor_of("llama", "h.11.attn.c_attn.weight", IN, 3 * HEADS, &sizes,
                                    1);
    ck_assert_str_eq(tensor.name, "layers.11.self_attn.k_proj.weight");
    ck_assert(tensor.shape[0] == KEYS && tensor.shape[1] == IN);
    family_read(&tensor, linnet[0], foreign);
    ck_assert(memcmp(linnet, wanted, sizeof linnet) == 0);
}

TEST(the_head_has_no_prefix_and_buffers_are_known)
{
    const FamilySizes sizes = {1, 1, 1, 0};
    ck_assert(!tensor_of("gpt_neox", "lm_head.weight", 3, 1, &sizes, 0).prefixed);
    ck_assert_str_eq(tensor_of("gpt_neox", "lm_head.weight", 3, 1, &sizes, 0).name,
                     "embed_out.weight");
    ck_assert(!tensor_of("llama", "lm_head.weight", 3, 1, &sizes, 0).prefixed);
    ck_assert(tensor_of("llama", "wte.weight", 3, 1, &sizes, 0).prefixed);
    ck_assert(family_is_buffer(family_find("gpt2"), "h.3.attn.bias"));
    ck_assert(!family_is_buffer(family_find("gpt2"), "h.3.attn.c_attn.bias"));
    ck_assert(!family_is_buffer(family_find("llama"), "h.3.attn.bias"));
    ck_assert_ptr_null(family_find("mamba"));
}

TEST(every_activation_has_a_name_in_a_family)
{
    for (size_t i = 0; activation_find(i); i++) {
        bool gated = activation_find(i)->inputs == 2;
        const Family *family = family_find(gated ? "llama" : "gpt2"),
                     *other = family_find(gated ? "gpt2" : "llama");
        const char *name = activation_name(i),
                   *foreign = family_activation_foreign(family, name);
        ck_assert_ptr_nonnull(foreign);
        ck_assert_str_eq(family_activation_linnet(family, foreign), name);
        ck_assert_ptr_null(family_activation_foreign(other, name));
    }
}
