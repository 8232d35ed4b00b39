/* BLAKE2b with a key and a digest of 8 octets.

   Source: RFC 7693. */

#ifndef OBORONA_BLAKE2B_H
#define OBORONA_BLAKE2B_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core.h"

enum { BLOCK = 128, DIGEST = 8, LONGEST_KEY = 64 };

static const uint64_t IV[8] = {
    UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b),
    UINT64_C(0x3c6ef372fe94f82b), UINT64_C(0xa54ff53a5f1d36f1),
    UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
    UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179),
};

static const uint8_t SIGMA[12][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
};

typedef struct {
    uint64_t h[8];
    uint64_t length; /* octets that were compressed */
    uint8_t block[BLOCK];
    size_t filled;
} Blake;

static inline uint64_t turned(uint64_t word, int bits)
{
    return word >> bits | word << (64 - bits);
}

#define MIX(a, b, c, d, x, y)                \
    do {                                     \
        v[a] += v[b] + (x);                  \
        v[d] = turned(v[d] ^ v[a], 32);      \
        v[c] += v[d];                        \
        v[b] = turned(v[b] ^ v[c], 24);      \
        v[a] += v[b] + (y);                  \
        v[d] = turned(v[d] ^ v[a], 16);      \
        v[c] += v[d];                        \
        v[b] = turned(v[b] ^ v[c], 63);      \
    } while (0)

/* Compress a block; length is that of all up to its end. */
static inline void compress(uint64_t h[8], const uint8_t *block, uint64_t length, int last)
{
    uint64_t v[16], m[16];
    for (int place = 0; place < 16; place++)
        m[place] = number_at(block + 8 * place);
    for (int place = 0; place < 8; place++) {
        v[place] = h[place];
        v[place + 8] = IV[place];
    }
    v[12] ^= length; /* no piece has 2^64 octets */
    if (last)
        v[14] = ~v[14];
    for (int round = 0; round < 12; round++) {
        const uint8_t *s = SIGMA[round];
        MIX(0, 4, 8, 12, m[s[0]], m[s[1]]);
        MIX(1, 5, 9, 13, m[s[2]], m[s[3]]);
        MIX(2, 6, 10, 14, m[s[4]], m[s[5]]);
        MIX(3, 7, 11, 15, m[s[6]], m[s[7]]);
        MIX(0, 5, 10, 15, m[s[8]], m[s[9]]);
        MIX(1, 6, 11, 12, m[s[10]], m[s[11]]);
        MIX(2, 7, 8, 13, m[s[12]], m[s[13]]);
        MIX(3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (int place = 0; place < 8; place++)
        h[place] ^= v[place] ^ v[place + 8];
}

static inline void update(Blake *state, const uint8_t *octets, size_t number)
{
    while (number > 0) {
        if (state->filled == BLOCK) { /* and more comes: it is not the last */
            state->length += BLOCK;
            compress(state->h, state->block, state->length, 0);
            state->filled = 0;
        }
        size_t part = BLOCK - state->filled;
        if (part > number)
            part = number;
        memcpy(state->block + state->filled, octets, part);
        state->filled += part;
        octets += part;
        number -= part;
    }
}

/* Return the digest as a number, its first octet the highest; the state is used up. */
static inline uint64_t digest(Blake *state)
{
    memset(state->block + state->filled, 0, BLOCK - state->filled);
    compress(state->h, state->block, state->length + state->filled, 1);
    uint64_t number = 0;
    for (int place = 0; place < DIGEST; place++)
        number = number << 8 | (state->h[0] >> (8 * place) & 0xff);
    return number;
}

/* Set the state behind the block of a key, of 1 to LONGEST_KEY octets. */
static inline void absorb_key(uint64_t h[8], const uint8_t *key, size_t number)
{
    uint8_t block[BLOCK] = {0};
    memcpy(block, key, number);
    memcpy(h, IV, sizeof IV);
    h[0] ^= UINT64_C(0x01010000) ^ (uint64_t)number << 8 ^ DIGEST;
    compress(h, block, BLOCK, 0);
}

#endif
