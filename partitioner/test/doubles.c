/*
 * A double is a chain of three steps, of which one or two are wrong: change the key (as clients do that treat it as
 * text), hash it, reduce the hash to a partition. A step that a row leaves out is the right one.
 */
#include "doubles.h"
#include "reference.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define KAFKA_SEED 0x9747b28cu
#define M 0x5bd1e995u

enum { ROOM_PER_BYTE = 3, ROOM_MORE = 8 }; /* no change makes a key longer than this times its length, plus that */

/* ---- murmur2 with one thing wrong ----------------------------------------------------------------------------- */

enum word_rule { LITTLE_ENDIAN_WORD, SIGNED_ADDED, SIGNED_ORED, BIG_ENDIAN_WORD };
enum tail_rule {
        TAIL,
        TAIL_SIGNED,
        TAIL_REVERSED,
        TAIL_REVERSED_SIGNED,
        TAIL_IGNORED,
        TAIL_NOT_MULTIPLIED,
        ALWAYS_MULTIPLIED
};

struct variant {
        enum word_rule word;
        enum tail_rule tail;
        bool arithmetic; /* >> where Java has >>> */
        bool other_seed;
        uint32_t seed;
        uint32_t (*length)(size_t len); /* what is mixed in */
        unsigned r, first, last;        /* shifts, 0 for the right ones */
};

struct wrong {
        const char *name;
        size_t caught_cnt;
        size_t (*change)(const unsigned char *key, size_t len, unsigned char *out);
        uint32_t (*hash)(const unsigned char *key, size_t len); /* in place of murmur2 */
        struct variant variant;
        int32_t (*reduce)(uint32_t hash, int32_t partition_cnt);
};

static uint32_t shift_right(uint32_t x, unsigned by, bool arithmetic)
{
        uint32_t filled = arithmetic && x >> 31 ? ~(0xffffffffu >> by) : 0;

        return x >> by | filled;
}

static uint32_t as_signed(unsigned char byte)
{
        return byte < 0x80 ? byte : byte | 0xffffff00u;
}

static uint32_t word_at(const unsigned char *p, enum word_rule rule)
{
        switch (rule) {
        case SIGNED_ADDED:
                return as_signed(p[0]) + (as_signed(p[1]) << 8) + (as_signed(p[2]) << 16) + (as_signed(p[3]) << 24);
        case SIGNED_ORED:
                return as_signed(p[0]) | as_signed(p[1]) << 8 | as_signed(p[2]) << 16 | as_signed(p[3]) << 24;
        case BIG_ENDIAN_WORD:
                return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
        default:
                return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
        }
}

static uint32_t mix_tail(uint32_t h, const unsigned char *tail, size_t cnt, enum tail_rule rule)
{
        bool sign = rule == TAIL_SIGNED || rule == TAIL_REVERSED_SIGNED;
        bool reversed = rule == TAIL_REVERSED || rule == TAIL_REVERSED_SIGNED;

        if (rule == TAIL_IGNORED)
                return h;
        for (size_t i = 0; i < cnt; i++) {
                unsigned char byte = tail[reversed ? cnt - 1 - i : i];

                h ^= (sign ? as_signed(byte) : byte) << (8 * i);
        }
        return rule != TAIL_NOT_MULTIPLIED && (cnt || rule == ALWAYS_MULTIPLIED) ? h * M : h;
}

static uint32_t murmur2_variant(const unsigned char *key, size_t len, const struct variant *v)
{
        uint32_t h = (v->other_seed ? v->seed : KAFKA_SEED) ^ (v->length ? v->length(len) : (uint32_t)len);

        for (size_t i = 0; i + 4 <= len; i += 4) {
                uint32_t k = word_at(key + i, v->word) * M;

                k = (k ^ shift_right(k, v->r ? v->r : 24, v->arithmetic)) * M;
                h = h * M ^ k;
        }
        h = mix_tail(h, key + len - len % 4, len % 4, v->tail);
        h = (h ^ shift_right(h, v->first ? v->first : 13, v->arithmetic)) * M;
        return h ^ shift_right(h, v->last ? v->last : 15, v->arithmetic);
}

static uint32_t no_length(size_t len)
{
        (void)len;
        return 0;
}

static uint32_t length_8_bits(size_t len)
{
        return len & 0xff;
}

static uint32_t length_signed_char(size_t len)
{
        return as_signed(len & 0xff);
}

static uint32_t length_10_bits(size_t len)
{
        return len & 0x3ff;
}

static uint32_t length_12_bits(size_t len)
{
        return len & 0xfff;
}

/* ---- other hashes --------------------------------------------------------------------------------------------- */

static uint32_t rotate_left(uint32_t x, unsigned by)
{
        return x << by | x >> (32 - by);
}

static uint32_t murmur3(const unsigned char *key, size_t len, uint32_t seed)
{
        const uint32_t c1 = 0xcc9e2d51u, c2 = 0x1b873593u;
        uint32_t h = seed, k = 0;

        for (size_t i = 0; i + 4 <= len; i += 4) {
                h ^= rotate_left(word_at(key + i, LITTLE_ENDIAN_WORD) * c1, 15) * c2;
                h = rotate_left(h, 13) * 5 + 0xe6546b64u;
        }
        for (size_t i = len % 4; i > 0; i--)
                k = k << 8 | key[len - len % 4 + i - 1];
        h ^= rotate_left(k * c1, 15) * c2;
        h ^= (uint32_t)len;
        h = (h ^ h >> 16) * 0x85ebca6bu;
        h = (h ^ h >> 13) * 0xc2b2ae35u;
        return h ^ h >> 16;
}

static uint32_t murmur3_seed0(const unsigned char *key, size_t len)
{
        return murmur3(key, len, 0);
}

static uint32_t murmur3_kafka_seed(const unsigned char *key, size_t len)
{
        return murmur3(key, len, KAFKA_SEED);
}

static void mix_2a(uint32_t *h, uint32_t k)
{
        k *= M;
        k = (k ^ k >> 24) * M;
        *h = *h * M ^ k;
}

static uint32_t murmur2a(const unsigned char *key, size_t len)
{
        uint32_t h = KAFKA_SEED, tail = 0;

        for (size_t i = 0; i + 4 <= len; i += 4)
                mix_2a(&h, word_at(key + i, LITTLE_ENDIAN_WORD));
        for (size_t i = len % 4; i > 0; i--)
                tail = tail << 8 | key[len - len % 4 + i - 1];
        mix_2a(&h, tail);
        mix_2a(&h, (uint32_t)len);
        h = (h ^ h >> 13) * M;
        return h ^ h >> 15;
}

static uint32_t murmur64a_low(const unsigned char *key, size_t len)
{
        const uint64_t m = 0xc6a4a7935bd1e995u;
        uint64_t h = KAFKA_SEED ^ len * m, tail = 0;
        size_t words = len / 8;

        for (size_t w = 0; w < words; w++) {
                uint64_t k = 0;

                for (size_t i = 8; i > 0; i--)
                        k = k << 8 | key[8 * w + i - 1];
                k *= m;
                k = (k ^ k >> 47) * m;
                h = (h ^ k) * m;
        }
        for (size_t i = len; i > 8 * words; i--)
                tail = tail << 8 | key[i - 1];
        if (len % 8)
                h = (h ^ tail) * m;
        h = (h ^ h >> 47) * m;
        return (uint32_t)(h ^ h >> 47);
}

static uint32_t empty_is_0(const unsigned char *key, size_t len)
{
        return len ? reference_murmur2(key, len) : 0;
}

/* ---- keys taken for text -------------------------------------------------------------------------------------- */

/* Decodes one character. @returns its bytes, 0 when there is no valid UTF-8 at p. */
static size_t decode(const unsigned char *p, size_t left, uint32_t *cp)
{
        static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
        size_t len = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;

        if (!len || len > left)
                return 0;
        *cp = len == 1 ? p[0] : p[0] & (0x7fu >> len);
        for (size_t i = 1; i < len; i++) {
                if (p[i] >> 6 != 2)
                        return 0;
                *cp = *cp << 6 | (p[i] & 0x3f);
        }
        return *cp < least[len] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp < 0xe000) ? 0 : len;
}

static bool is_text(const unsigned char *key, size_t len)
{
        uint32_t cp;

        for (size_t i = 0, n; i < len; i += n)
                if (!(n = decode(key + i, len - i, &cp)))
                        return false;
        return true;
}

/* Characters of a text; the bytes of anything else. */
static size_t character_cnt(const unsigned char *key, size_t len)
{
        size_t cnt = 0;
        uint32_t cp;

        if (!is_text(key, len))
                return len;
        for (size_t i = 0; i < len; i += decode(key + i, len - i, &cp))
                cnt++;
        return cnt;
}

static size_t cut(const unsigned char *key, size_t len, unsigned char *out, size_t most)
{
        if (len > most)
                len = most;
        if (len)
                memcpy(out, key, len);
        return len;
}

static size_t keep(const unsigned char *key, size_t len, unsigned char *out)
{
        return cut(key, len, out, len);
}

static size_t until_nul(const unsigned char *key, size_t len, unsigned char *out)
{
        const unsigned char *nul = len ? memchr(key, 0, len) : NULL;

        return cut(key, len, out, nul ? (size_t)(nul - key) : len);
}

static size_t with_nul(const unsigned char *key, size_t len, unsigned char *out)
{
        out[keep(key, len, out)] = 0;
        return len + 1;
}

static size_t without_trailing_nuls(const unsigned char *key, size_t len, unsigned char *out)
{
        while (len && !key[len - 1])
                len--;
        return keep(key, len, out);
}

static size_t trimmed(const unsigned char *key, size_t len, unsigned char *out)
{
        for (; len && isspace(key[len - 1]); len--)
                ;
        for (; len && isspace(key[0]); len--)
                key++;
        return keep(key, len, out);
}

static size_t chomped(const unsigned char *key, size_t len, unsigned char *out)
{
        return keep(key, len && key[len - 1] == '\n' ? len - 1 : len, out);
}

static size_t lower_case(const unsigned char *key, size_t len, unsigned char *out)
{
        for (size_t i = 0; i < len; i++)
                out[i] = (unsigned char)(key[i] >= 'A' && key[i] <= 'Z' ? key[i] + 32 : key[i]);
        return len;
}

static size_t upper_case(const unsigned char *key, size_t len, unsigned char *out)
{
        for (size_t i = 0; i < len; i++)
                out[i] = (unsigned char)(key[i] >= 'a' && key[i] <= 'z' ? key[i] - 32 : key[i]);
        return len;
}

static size_t as_many_bytes_as_characters(const unsigned char *key, size_t len, unsigned char *out)
{
        return cut(key, len, out, character_cnt(key, len));
}

/* One byte a character where the key is text: Latin-1, with others as '?'. */
static size_t narrowed(const unsigned char *key, size_t len, unsigned char *out, uint32_t largest)
{
        size_t cnt = 0;
        uint32_t cp;

        if (!is_text(key, len))
                return keep(key, len, out);
        for (size_t i = 0; i < len; cnt++) {
                i += decode(key + i, len - i, &cp);
                out[cnt] = (unsigned char)(cp <= largest ? cp : '?');
        }
        return cnt;
}

static size_t latin1(const unsigned char *key, size_t len, unsigned char *out)
{
        return narrowed(key, len, out, 0xff);
}

static size_t ascii_or_question_mark(const unsigned char *key, size_t len, unsigned char *out)
{
        return narrowed(key, len, out, 0x7f);
}

static size_t utf16le(const unsigned char *key, size_t len, unsigned char *out)
{
        size_t cnt = 0;
        uint32_t cp;

        if (!is_text(key, len))
                return keep(key, len, out);
        for (size_t i = 0; i < len;) {
                uint32_t units[2];
                int unit_cnt = 1;

                i += decode(key + i, len - i, &cp);
                units[0] = cp;
                if (cp > 0xffff) {
                        units[0] = 0xd800 + ((cp - 0x10000) >> 10);
                        units[1] = 0xdc00 + ((cp - 0x10000) & 0x3ff);
                        unit_cnt = 2;
                }
                for (int u = 0; u < unit_cnt; u++) {
                        out[cnt++] = (unsigned char)units[u];
                        out[cnt++] = (unsigned char)(units[u] >> 8);
                }
        }
        return cnt;
}

static size_t seven_bits(const unsigned char *key, size_t len, unsigned char *out)
{
        for (size_t i = 0; i < len; i++)
                out[i] = key[i] & 0x7f;
        return len;
}

static size_t lossy_utf8(const unsigned char *key, size_t len, unsigned char *out)
{
        size_t cnt = 0;
        uint32_t cp;

        for (size_t i = 0; i < len;) {
                size_t n = decode(key + i, len - i, &cp);

                memcpy(out + cnt, n ? key + i : (const unsigned char *)"\xef\xbf\xbd", n ? n : 3);
                cnt += n ? n : 3;
                i += n ? n : 1;
        }
        return cnt;
}

static size_t first_255(const unsigned char *key, size_t len, unsigned char *out)
{
        return cut(key, len, out, 255);
}

static size_t first_256(const unsigned char *key, size_t len, unsigned char *out)
{
        return cut(key, len, out, 256);
}

static size_t first_1024(const unsigned char *key, size_t len, unsigned char *out)
{
        return cut(key, len, out, 1024);
}

static size_t first_byte(const unsigned char *key, size_t len, unsigned char *out)
{
        return cut(key, len, out, 1);
}

static size_t hex_text(const unsigned char *key, size_t len, unsigned char *out)
{
        for (size_t i = 0; i < len; i++) {
                out[2 * i] = (unsigned char)"0123456789abcdef"[key[i] >> 4];
                out[2 * i + 1] = (unsigned char)"0123456789abcdef"[key[i] & 15];
        }
        return 2 * len;
}

/* ---- from a hash to a partition ------------------------------------------------------------------------------- */

static int64_t signed32(uint32_t hash)
{
        return hash >> 31 ? (int64_t)hash - 0x100000000 : (int64_t)hash;
}

static int64_t magnitude(uint32_t hash)
{
        int64_t h = signed32(hash);

        return h < 0 ? -h : h;
}

static int32_t masked(uint32_t hash, int32_t n)
{
        return (int32_t)((hash & 0x7fffffffu) % (uint32_t)n);
}

static int32_t unsigned_remainder(uint32_t hash, int32_t n)
{
        return (int32_t)(hash % (uint32_t)n);
}

static int32_t absolute(uint32_t hash, int32_t n)
{
        return (int32_t)(magnitude(hash) % n);
}

/* Java's Math.abs(MIN) is MIN, and the remainder of a negative number is negative: the second abs hides it. */
static int32_t abs_twice(uint32_t hash, int32_t n)
{
        int64_t h = hash == 0x80000000u ? signed32(hash) : magnitude(hash);
        int64_t p = h % n;

        return (int32_t)(p < 0 ? -p : p);
}

static int32_t abs_min_is_max(uint32_t hash, int32_t n)
{
        return (int32_t)((hash == 0x80000000u ? INT32_MAX : magnitude(hash)) % n);
}

static int32_t floor_mod(uint32_t hash, int32_t n)
{
        int64_t p = signed32(hash) % n;

        return (int32_t)(p < 0 ? p + n : p);
}

static int32_t signed_remainder(uint32_t hash, int32_t n)
{
        return (int32_t)(signed32(hash) % n);
}

static int32_t remainder_then_mask(uint32_t hash, int32_t n)
{
        return (int32_t)((uint32_t)signed_remainder(hash, n) & 0x7fffffffu);
}

static int32_t complement(uint32_t hash, int32_t n)
{
        return unsigned_remainder(hash >> 31 ? ~hash : hash, n);
}

static int32_t shifted(uint32_t hash, int32_t n)
{
        return unsigned_remainder(hash >> 1, n);
}

static int32_t low_bits(uint32_t hash, int32_t n)
{
        return (int32_t)(hash & ((uint32_t)n - 1));
}

static int32_t scaled_32(uint32_t hash, int32_t n)
{
        return (int32_t)((uint64_t)hash * (uint32_t)n >> 32);
}

static int32_t scaled_31(uint32_t hash, int32_t n)
{
        return (int32_t)((uint64_t)(hash & 0x7fffffffu) * (uint32_t)n >> 31);
}

static int32_t mask_7ffffffe(uint32_t hash, int32_t n)
{
        return unsigned_remainder(hash & 0x7ffffffeu, n);
}

static int32_t mask_0fffffff(uint32_t hash, int32_t n)
{
        return unsigned_remainder(hash & 0x0fffffffu, n);
}

static int32_t one_partition_less(uint32_t hash, int32_t n)
{
        return n > 1 ? masked(hash, n - 1) : 0;
}

static int32_t negative_to_0(uint32_t hash, int32_t n)
{
        return hash >> 31 ? 0 : masked(hash, n);
}

static int32_t short_absolute(uint32_t hash, int32_t n)
{
        return absolute(hash & 0x8000u ? hash | 0xffff0000u : hash & 0xffffu, n);
}

static int32_t max_to_0(uint32_t hash, int32_t n)
{
        return (hash & 0x7fffffffu) == 0x7fffffffu ? 0 : masked(hash, n);
}

/* ---- the list ------------------------------------------------------------------------------------------------- */

static uint32_t length_of_characters(const unsigned char *key, size_t len)
{
        /* As seed: the characters' count in place of the bytes'. */
        struct variant v = { .other_seed = true,
                             .length = no_length,
                             .seed = KAFKA_SEED ^ (uint32_t)character_cnt(key, len) };

        return murmur2_variant(key, len, &v);
}

static const wrong_t list[] = {
        { "tail bytes sign-extended", 9, .variant.tail = TAIL_SIGNED },
        { "tail reversed + sign-extended (Hadoop, old Cassandra)", 23, .variant.tail = TAIL_REVERSED_SIGNED },
        { "tail byte order reversed", 21, .variant.tail = TAIL_REVERSED },
        { "word bytes sign-extended, added", 11, .variant.word = SIGNED_ADDED },
        { "word bytes sign-extended, ORed", 10, .variant.word = SIGNED_ORED },
        { "big-endian words", 32, .variant.word = BIG_ENDIAN_WORD },
        { "arithmetic >> in place of >>>", 37, .variant.arithmetic = true },
        { "tail ignored", 29, .variant.tail = TAIL_IGNORED },
        { "tail without final multiply", 29, .variant.tail = TAIL_NOT_MULTIPLIED },
        { "multiply even without tail", 16, .variant.tail = ALWAYS_MULTIPLIED },
        { "seed 0", 46, .variant = { .other_seed = true, .seed = 0 } },
        { "seed 0x01234567 (murmur-hash-js)", 46, .variant = { .other_seed = true, .seed = 0x01234567 } },
        { "length not mixed in", 45, .variant.length = no_length },
        { "length truncated to 8 bits", 3, .variant.length = length_8_bits },
        { "length as a signed char", 4, .variant.length = length_signed_char },
        { "length truncated to 10 bits", 2, .variant.length = length_10_bits },
        { "length truncated to 12 bits", 1, .variant.length = length_12_bits },
        { "final shifts swapped", 45, .variant = { .first = 15, .last = 13 } },
        { "final shift 16", 45, .variant = { .first = 16 } },
        { "r is 23", 34, .variant.r = 23 },
        { "stops at the first NUL", 9, .change = until_nul },
        { "trailing NUL counted", 46, .change = with_nul },
        { "trailing NULs stripped", 1, .change = without_trailing_nuls },
        { "white space trimmed", 2, .change = trimmed },
        { "trailing newline chomped", 1, .change = chomped },
        { "lower-cased", 7, .change = lower_case },
        { "upper-cased", 33, .change = upper_case },
        { "as many bytes as characters (rdkafka-ruby)", 3, .change = as_many_bytes_as_characters },
        { "length in characters, all bytes hashed", 3, .hash = length_of_characters },
        { "Latin-1 hashed", 3, .change = latin1 },
        { "UTF-16LE hashed", 29, .change = utf16le },
        { "non-ASCII replaced by ?", 3, .change = ascii_or_question_mark },
        { "bytes masked to 7 bits", 19, .change = seven_bits },
        { "lossy UTF-8 decoding", 16, .change = lossy_utf8 },
        { "first 255 bytes only", 3, .change = first_255 },
        { "first 256 bytes only", 3, .change = first_256 },
        { "first 1024 bytes only", 1, .change = first_1024 },
        { "first byte only (collectd)", 43, .change = first_byte },
        { "hex text of the key hashed", 45, .change = hex_text },
        { "MurmurHash2A", 46, .hash = murmur2a },
        { "MurmurHash3_x86_32, seed 0", 46, .hash = murmur3_seed0 },
        { "MurmurHash3_x86_32, Kafka's seed", 46, .hash = murmur3_kafka_seed },
        { "MurmurHash64A, low half", 46, .hash = murmur64a_low },
        { "CRC-32", 46, .hash = reference_crc32 },
        { "FNV-1a", 46, .hash = reference_fnv1a },
        { "empty key hashed as 0", 1, .hash = empty_is_0 },
        { "unsigned mod N (librdkafka 0.11.4, @platformatic/kafka)", 17, .reduce = unsigned_remainder },
        { "abs(h) mod N (Sarama)", 17, .reduce = absolute },
        { "Math.abs(h) mod N, then abs", 17, .reduce = abs_twice },
        { "Math.abs(h), MIN as MAX", 17, .reduce = abs_min_is_max },
        { "floorMod(h, N)", 17, .reduce = floor_mod },
        { "signed remainder, then mask", 17, .reduce = remainder_then_mask },
        { "~h for negative h", 17, .reduce = complement },
        { "(h >>> 1) mod N", 44, .reduce = shifted },
        { "h & (N - 1)", 44, .reduce = low_bits },
        { "(h * N) >> 32", 45, .reduce = scaled_32 },
        { "(masked h * N) >> 31", 44, .reduce = scaled_31 },
        { "mask 0x7ffffffe", 20, .reduce = mask_7ffffffe },
        { "mask 0x0fffffff", 38, .reduce = mask_0fffffff },
        { "mask, mod N - 1", 44, .reduce = one_partition_less },
        { "negative h to partition 0", 16, .reduce = negative_to_0 },
        { "cast to a 16-bit number", 43, .reduce = short_absolute },
        { "signed remainder, negative ones kept (Filebeat)", 17, .reduce = signed_remainder },
        { "MAX_VALUE to 0 (Debezium)", 2, .reduce = max_to_0 },
};

const wrong_t *wrong_at(size_t i)
{
        return i < sizeof(list) / sizeof(list[0]) ? &list[i] : NULL;
}

const char *wrong_name(const wrong_t *wrong)
{
        return wrong->name;
}

size_t wrong_caught_cnt(const wrong_t *wrong)
{
        return wrong->caught_cnt;
}

enum wrong_step wrong_step(const wrong_t *wrong)
{
        return wrong->change ? WRONG_KEY : wrong->reduce ? WRONG_REDUCTION : WRONG_HASH;
}

int32_t wrong_reduced(const wrong_t *wrong, uint32_t hash, int32_t partition_cnt)
{
        return wrong->reduce ? wrong->reduce(hash, partition_cnt) : masked(hash, partition_cnt);
}

bool wrong_is_right_for(const wrong_t *wrong, const char *reduction)
{
        return (wrong->reduce == unsigned_remainder && !strcmp(reduction, "none")) ||
               (wrong->reduce == absolute && !strcmp(reduction, "abs"));
}

/* The steps behind the key's. */
static int32_t hash_and_reduce(const void *self, const void *key, size_t key_len, int32_t partition_cnt)
{
        const wrong_t *wrong = self;
        uint32_t hash = wrong->hash ? wrong->hash(key, key_len) : murmur2_variant(key, key_len, &wrong->variant);

        return wrong_reduced(wrong, hash, partition_cnt);
}

int32_t wrong_partition_over(const wrong_t *wrong,
                             int32_t (*right)(const void *self, const void *key, size_t key_len, int32_t partition_cnt),
                             const void *self, const void *key, size_t key_len, int32_t partition_cnt)
{
        unsigned char *changed = malloc(ROOM_PER_BYTE * key_len + ROOM_MORE);
        int32_t partition;

        if (!changed)
                abort();
        key_len = wrong->change(key, key_len, changed);
        partition = right(self, changed, key_len, partition_cnt);
        free(changed);
        return partition;
}

int32_t wrong_partition(const void *self, const void *key, size_t key_len, int32_t partition_cnt)
{
        const wrong_t *wrong = self;

        return wrong->change ? wrong_partition_over(wrong, hash_and_reduce, wrong, key, key_len, partition_cnt)
                             : hash_and_reduce(wrong, key, key_len, partition_cnt);
}
