/* What the program has taken of the machine. */
#ifndef LINNET_USAGE_H
#define LINNET_USAGE_H

/* The most memory that was resident so far, in MB of a million bytes. */
double usage_peak_megabytes(void);

#endif
