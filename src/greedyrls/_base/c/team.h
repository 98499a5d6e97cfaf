/* Threads that take shares of one call, for loops of some tens of microseconds. */
#ifndef GREEDYRLS_TEAM_H
#define GREEDYRLS_TEAM_H

#include <stdint.h>

typedef void (*RunShare)(void *context, int64_t share);

/* Run all shares, in the calling thread and up to `n_threads` − 1 others; returns when all are done.
 * What a share computes must not depend on who runs it, nor on the other shares. */
void in_shares(int64_t n_threads, int64_t n_shares, RunShare run, void *context);

/* A process that was forked has no helpers, and starts its own. */
void forget_helpers(void);

#endif
