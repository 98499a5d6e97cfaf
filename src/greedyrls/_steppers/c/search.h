/* The search, compiled once for each set of instructions (see CMakeLists.txt). */
#ifndef GREEDYRLS_SEARCH_H
#define GREEDYRLS_SEARCH_H

struct search {
    const char *variant;
};

extern const struct search baseline_search;
#ifdef HAS_X86_VARIANTS
extern const struct search avx2_search;
extern const struct search avx512_search;
#endif

#endif
