/**
 * The three hashes that matter most, written once more for tests: byte by byte from their definitions, without loads of
 * words, tables or a library, so that they share no mistake with the product's.
 */
#ifndef KR_TEST_REFERENCE_H
#define KR_TEST_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

uint32_t reference_murmur2(const unsigned char *key, size_t len); /* Kafka's seed, no sign handling */
uint32_t reference_crc32(const unsigned char *key, size_t len);
uint32_t reference_fnv1a(const unsigned char *key, size_t len);

#endif
