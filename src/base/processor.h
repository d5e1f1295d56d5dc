/* Whether this processor can run the program.
 *
 * A program built for one processor (make's -march=native) dies on another with a bare "Illegal
 * instruction". So before main, and before any code that the compiler made for the other
 * processor, a constructor (program.c) compares the extensions that the program was built for
 * with those that this processor and system have, and ends the program with a message if one is
 * missing. A library has no constructor, but asks when it is first called. The Makefile
 * compiles processor.c for any processor of the family; so what a file was built for,
 * PROCESSOR_BUILT_FOR, is an argument that files compiled like all else pass to it. */
#ifndef LINNET_PROCESSOR_H
#define LINNET_PROCESSOR_H

#include <stddef.h>
#include <stdint.h>

/* The extensions that the compiler may use in ordinary code, a row for each: the name of its
 * bit, the macro that the compiler defines as 1 when it may, how processor.c asks for it (not
 * every compiler has a name for each), and the name for people. Others of x86-64-v3, such as
 * SSSE3, come with AVX. */
/* clang-format off */
#define PROCESSOR_EXTENSIONS(row)                                                                 \
    row(SSE42,           __SSE4_2__,          supports("sse4.2"),            "SSE4.2")            \
    row(POPCNT,          __POPCNT__,          supports("popcnt"),            "POPCNT")            \
    row(LZCNT,           __LZCNT__,           cpuid(0x80000001, 0, ECX, 5),  "LZCNT")             \
    row(MOVBE,           __MOVBE__,           cpuid(1, 0, ECX, 22),          "MOVBE")             \
    row(AVX,             __AVX__,             supports("avx"),               "AVX")               \
    row(F16C,            __F16C__,            cpuid(1, 0, ECX, 29),          "F16C")              \
    row(XOP,             __XOP__,             cpuid(0x80000001, 0, ECX, 11), "XOP")               \
    row(FMA4,            __FMA4__,            cpuid(0x80000001, 0, ECX, 16), "FMA4")              \
    row(AVX2,            __AVX2__,            supports("avx2"),              "AVX2")              \
    row(FMA,             __FMA__,             supports("fma"),               "FMA")               \
    row(BMI,             __BMI__,             supports("bmi"),               "BMI")               \
    row(BMI2,            __BMI2__,            supports("bmi2"),              "BMI2")              \
    row(GFNI,            __GFNI__,            supports("gfni"),              "GFNI")              \
    row(AVXVNNI,         __AVXVNNI__,         cpuid(7, 1, EAX, 4),           "AVX-VNNI")          \
    row(AVX512F,         __AVX512F__,         supports("avx512f"),           "AVX-512F")          \
    row(AVX512BW,        __AVX512BW__,        supports("avx512bw"),          "AVX-512BW")         \
    row(AVX512CD,        __AVX512CD__,        supports("avx512cd"),          "AVX-512CD")         \
    row(AVX512DQ,        __AVX512DQ__,        supports("avx512dq"),          "AVX-512DQ")         \
    row(AVX512VL,        __AVX512VL__,        supports("avx512vl"),          "AVX-512VL")         \
    row(AVX512IFMA,      __AVX512IFMA__,      supports("avx512ifma"),        "AVX-512_IFMA")      \
    row(AVX512VBMI,      __AVX512VBMI__,      supports("avx512vbmi"),        "AVX-512_VBMI")      \
    row(AVX512VBMI2,     __AVX512VBMI2__,     supports("avx512vbmi2"),       "AVX-512_VBMI2")     \
    row(AVX512VNNI,      __AVX512VNNI__,      supports("avx512vnni"),        "AVX-512_VNNI")      \
    row(AVX512BITALG,    __AVX512BITALG__,    supports("avx512bitalg"),      "AVX-512_BITALG")    \
    row(AVX512VPOPCNTDQ, __AVX512VPOPCNTDQ__, supports("avx512vpopcntdq"),   "AVX-512_VPOPCNTDQ") \
    row(AVX512BF16,      __AVX512BF16__,      supports("avx512bf16"),        "AVX-512_BF16")      \
    row(AVX512FP16,      __AVX512FP16__,      cpuid(7, 0, EDX, 23),          "AVX-512_FP16")
/* clang-format on */

#define PROCESSOR_PLACE(bit, macro, test, title) PROCESSOR_PLACE_##bit,
#define PROCESSOR_BIT(bit, macro, test, title)   PROCESSOR_##bit = 1 << PROCESSOR_PLACE_##bit,
enum { PROCESSOR_EXTENSIONS(PROCESSOR_PLACE) };
enum { PROCESSOR_EXTENSIONS(PROCESSOR_BIT) };

/* The set that the file with this macro is built for. PROCESSOR_HAS is 1 if its argument is
 * defined as 1, else 0: only PROCESSOR_AHEAD_OF_1 exists, and moves the 1 to second place. */
#define PROCESSOR_HAS(macro)            PROCESSOR_IS_ONE(macro)
#define PROCESSOR_IS_ONE(value)         PROCESSOR_SECOND_OF(PROCESSOR_AHEAD_OF_##value 1, 0, 0)
#define PROCESSOR_SECOND_OF(...)        PROCESSOR_SECOND(__VA_ARGS__)
#define PROCESSOR_SECOND(one, two, ...) two
#define PROCESSOR_AHEAD_OF_1            0,
#define PROCESSOR_IN(bit, macro, ...)   | (PROCESSOR_HAS(macro) ? PROCESSOR_##bit : 0u)
#define PROCESSOR_BUILT_FOR             (0u PROCESSOR_EXTENSIONS(PROCESSOR_IN))

/* The extensions that this processor has and whose registers the system saves. */
uint32_t processor_present(void);

/* Writes the names of those that are missing, with commas between; returns their number. */
size_t processor_missing(uint32_t needed, uint32_t present, char *names, size_t size);

/* Ends the program with a message if this processor lacks one of them. */
void processor_check(uint32_t needed);

#endif
