/* What this code was built for: compiled like all else, unlike the rest of the module. */
#include "src/base/processor.h"

/* 1 if the macro is defined as 1, else 0: only AHEAD_OF_1 exists, and moves the 1 to second
 * place. */
#define IS_DEFINED(macro)     IS_ONE(macro)
#define IS_ONE(value)         SECOND_OF(AHEAD_OF_##value 1, 0, 0)
#define SECOND_OF(...)        SECOND(__VA_ARGS__)
#define SECOND(one, two, ...) two
#define AHEAD_OF_1            0,

#define BUILT_FOR(bit, macro, test, title) | (IS_DEFINED(macro) ? PROCESSOR_##bit : 0u)
const uint32_t processor_built_for = 0u PROCESSOR_EXTENSIONS(BUILT_FOR);
