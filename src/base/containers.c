/* The only file that compiles the implementation of stb_ds. */
#define STB_DS_IMPLEMENTATION
#include "src/base/containers.h"
