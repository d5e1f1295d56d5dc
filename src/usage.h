/* Resource usage of this process. */
#ifndef LINNET_USAGE_H
#define LINNET_USAGE_H

/* Peak resident memory (RSS) so far, in MB of a million bytes. */
double usage_peak_megabytes(void);

#endif
