/* One variant of the search: VARIANT is baseline, avx2 or avx512. */
#include "search.h"

#define JOINED(variant, name) variant##_##name
#define NAME_IN(variant, name) JOINED(variant, name)
#define NAME(name) NAME_IN(VARIANT, name)
#define TEXT_OF(variant) #variant
#define TEXT(variant) TEXT_OF(variant)

extern const struct search NAME(search);
const struct search NAME(search) = {TEXT(VARIANT)};
