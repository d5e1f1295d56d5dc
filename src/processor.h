/* Whether this processor can run the program.
 *
 * A program built for one processor (make's -march=native) dies on another with a bare "Illegal
 * instruction". So before main, and before any code that the compiler made for the other
 * processor, a constructor compares the extensions that the program was built for with those
 * that this processor and system have, and ends the program with a message if one is missing.
 * The Makefile compiles src/processor.c for any processor of the family. */
#ifndef LINNET_PROCESSOR_H
#define LINNET_PROCESSOR_H

#include <stddef.h>
#include <stdint.h>

/* The extensions that the compiler may use in ordinary code, a row for each: the name of its
 * bit, the macro that the compiler defines as 1 when it may, the compiler's name for it, and
 * the one for people. */
/* clang-format off */
#define PROCESSOR_EXTENSIONS(row)                             \
    row(SSE42,      __SSE4_2__,     "sse4.2",     "SSE4.2")   \
    row(POPCNT,     __POPCNT__,     "popcnt",     "POPCNT")   \
    row(AVX,        __AVX__,        "avx",        "AVX")      \
    row(AVX2,       __AVX2__,       "avx2",       "AVX2")     \
    row(FMA,        __FMA__,        "fma",        "FMA")      \
    row(BMI,        __BMI__,        "bmi",        "BMI")      \
    row(BMI2,       __BMI2__,       "bmi2",       "BMI2")     \
    row(AVX512F,    __AVX512F__,    "avx512f",    "AVX-512F") \
    row(AVX512BW,   __AVX512BW__,   "avx512bw",   "AVX-512BW") \
    row(AVX512DQ,   __AVX512DQ__,   "avx512dq",   "AVX-512DQ") \
    row(AVX512VL,   __AVX512VL__,   "avx512vl",   "AVX-512VL") \
    row(AVX512BF16, __AVX512BF16__, "avx512bf16", "AVX-512_BF16")
/* clang-format on */

#define PROCESSOR_PLACE(bit, macro, name, title) PROCESSOR_PLACE_##bit,
#define PROCESSOR_BIT(bit, macro, name, title)   PROCESSOR_##bit = 1 << PROCESSOR_PLACE_##bit,
enum { PROCESSOR_EXTENSIONS(PROCESSOR_PLACE) };
enum { PROCESSOR_EXTENSIONS(PROCESSOR_BIT) };

/* The set that the program was built for; src/program.c, compiled like all else, defines it. */
extern const uint32_t processor_built_for;

/* Writes the names of the missing extensions, with commas between; returns their number. */
size_t processor_missing(uint32_t needed, uint32_t present, char *names, size_t size);

/* The constructor. */
void processor_check(void);

#endif
