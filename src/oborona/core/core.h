/* What the parts of the native core share. */

#ifndef OBORONA_CORE_H
#define OBORONA_CORE_H

#include <Python.h>
#include <stdint.h>

#if __has_include(<xxhash.h>)
#define HAS_XXHASH 1
#else
#define HAS_XXHASH 0
#endif

extern PyType_Spec hasher_spec;
extern PyType_Spec minima_spec; /* where HAS_XXHASH */

/* Return a number of 8 octets, the lowest first. */
static inline uint64_t number_at(const uint8_t *octets)
{
    uint64_t number = 0;
    for (int place = 7; place >= 0; place--)
        number = number << 8 | octets[place];
    return number;
}

#endif
