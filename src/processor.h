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

/* The extensions that the compiler may use in ordinary code. */
enum {
    PROCESSOR_SSE42 = 1 << 0,
    PROCESSOR_POPCNT = 1 << 1,
    PROCESSOR_AVX = 1 << 2,
    PROCESSOR_AVX2 = 1 << 3,
    PROCESSOR_FMA = 1 << 4,
    PROCESSOR_BMI = 1 << 5,
    PROCESSOR_BMI2 = 1 << 6,
    PROCESSOR_AVX512F = 1 << 7,
    PROCESSOR_AVX512BW = 1 << 8,
    PROCESSOR_AVX512DQ = 1 << 9,
    PROCESSOR_AVX512VL = 1 << 10,
    PROCESSOR_AVX512BF16 = 1 << 11
};

/* The set that the program was built for; src/program.c, compiled like all else, defines it. */
extern const uint32_t processor_built_for;

/* Writes the names of the missing extensions, with commas between; returns their number. */
size_t processor_missing(uint32_t needed, uint32_t present, char *names, size_t size);

/* The constructor. */
void processor_check(void);

#endif
