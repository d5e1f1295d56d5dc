/* The floating-point type of all kernels.
 *
 * The library is built twice from the same sources: `real` is float in the programs and double
 * in the gradient-checking tests, where central differences are accurate to about nine digits.
 */
#ifndef LINNET_REAL_H
#define LINNET_REAL_H

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "linnet must see NaN and infinity: build without -ffast-math and -Ofast"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef LINNET_DOUBLE
typedef double real;
#define REAL_EPSILON 2.2204460492503131e-16
#else
typedef float real;
#define REAL_EPSILON 1.1920929e-07f
#endif

#endif
