#include "io/backlog.h"

#include <stdlib.h>
#include <string.h>

enum {
        NATIVE_COST = 400, /* what librdkafka has for a message besides its bytes, some of it rounded up */
        LOG_APPEND_TIME = 1,
        KEPT = 2,
        FLAGS = 7
};

struct rp_chunk {
        struct rp_chunk *next;
        size_t size, used;  /* of bytes */
        size_t cnt;         /* records */
        size_t held;        /* bytes that its kept records hold elsewhere */
        int64_t end;        /* offset behind the last record */
        char bytes[];       /* entries, one behind the other */
};

/* A record: this, then of a kept one a struct kept, its headers, and of a copied one its bytes. */
struct entry {
        int64_t offset, timestamp_ms;
        int32_t key_len, value_len; /* -1: NULL */
        uint32_t header_cnt;
        uint32_t size; /* in whole eights; what is left below them are flags */
};

struct kept {
        void *native;
        const void *key, *value;
};

static size_t aligned(size_t size)
{
        return (size + 7) & ~(size_t)7;
}

static size_t size_of(const struct rp_record *rec, bool is_kept)
{
        size_t size = sizeof(struct entry) + rec->header_cnt * sizeof(struct rp_header);

        if (is_kept)
                return size + sizeof(struct kept);
        size += rec->key_len + rec->value_len;
        for (size_t i = 0; i < rec->header_cnt; i++)
                size += strlen(rec->headers[i].name) + 1 + rec->headers[i].value_len;
        return aligned(size);
}

static size_t usual_size(const struct rp_backlog_pool *pool)
{
        return pool->chunk_size - sizeof(struct rp_chunk);
}

/* A record that is longer than usual has a chunk to itself, which is not used again. */
static struct rp_chunk *chunk_new(struct rp_backlog_pool *pool, size_t need)
{
        size_t size = need > usual_size(pool) ? need : usual_size(pool);
        struct rp_chunk *chunk = NULL;

        if (need <= usual_size(pool) && pool->idle) {
                chunk = pool->idle;
                pool->idle = chunk->next;
        }
        if (!chunk)
                chunk = malloc(sizeof(*chunk) + size);
        if (chunk)
                *chunk = (struct rp_chunk){ .size = size };
        return chunk;
}

static void put_back(struct rp_backlog_pool *pool, struct rp_chunk *chunk)
{
        if (chunk->size != usual_size(pool)) {
                free(chunk);
                return;
        }
        chunk->next = pool->idle;
        pool->idle = chunk;
}

static struct kept *kept_of(struct entry *entry)
{
        return (struct kept *)(entry + 1);
}

static struct rp_header *headers_of(struct entry *entry)
{
        return (struct rp_header *)((char *)(entry + 1) + (entry->size & KEPT ? sizeof(struct kept) : 0));
}

static size_t length_of(int32_t len)
{
        return len < 0 ? 0 : (size_t)len;
}

static char *put(char *at, const void *bytes, size_t len)
{
        if (len)
                memcpy(at, bytes, len);
        return at + len;
}

static void copy_in(struct entry *entry, const struct rp_record *rec)
{
        struct rp_header *headers = headers_of(entry);
        char *at = put((char *)(headers + rec->header_cnt), rec->key, rec->key_len);

        at = put(at, rec->value, rec->value_len);
        for (size_t i = 0; i < rec->header_cnt; i++) {
                const struct rp_header *header = &rec->headers[i];

                headers[i] = (struct rp_header){ .name = at, .value_len = header->value_len };
                at = put(at, header->name, strlen(header->name) + 1);
                headers[i].value = header->value ? at : NULL;
                at = put(at, header->value, header->value_len);
        }
}

bool rp_backlog_add(struct rp_backlog_pool *pool, struct rp_backlog *backlog, const struct rp_record *rec, void *native)
{
        size_t need = size_of(rec, native);
        struct rp_chunk *chunk = backlog->last;
        struct entry *entry;

        if (!chunk || chunk->size - chunk->used < need) {
                chunk = chunk_new(pool, need);
                if (!chunk)
                        return false;
                if (backlog->last)
                        backlog->last->next = chunk;
                else
                        backlog->first = chunk;
                backlog->last = chunk;
                backlog->bytes += sizeof(*chunk) + chunk->size;
        }
        entry = (struct entry *)(chunk->bytes + chunk->used);
        *entry = (struct entry){ .offset = rec->offset, .timestamp_ms = rec->timestamp_ms,
                                 .key_len = rec->key ? (int32_t)rec->key_len : -1,
                                 .value_len = rec->value ? (int32_t)rec->value_len : -1,
                                 .header_cnt = (uint32_t)rec->header_cnt,
                                 .size = (uint32_t)need | (rec->log_append_time ? LOG_APPEND_TIME : 0) | (native ? KEPT : 0) };
        if (native) {
                *kept_of(entry) = (struct kept){ .native = native, .key = rec->key, .value = rec->value };
                if (rec->header_cnt)
                        memcpy(headers_of(entry), rec->headers, rec->header_cnt * sizeof(*rec->headers));
                chunk->held += rec->key_len + rec->value_len + NATIVE_COST;
                backlog->bytes += rec->key_len + rec->value_len + NATIVE_COST;
        } else {
                copy_in(entry, rec);
        }
        chunk->used += need;
        chunk->cnt++;
        chunk->end = rec->offset + 1;
        backlog->newest_ms = rec->timestamp_ms;
        return true;
}

bool rp_backlog_is_empty(const struct rp_backlog *backlog)
{
        return !backlog->first;
}

/* The record as it was added. @returns its entry's size */
static size_t view(const struct rp_backlog *backlog, struct entry *entry, struct rp_record *rec)
{
        char *bytes = (char *)(headers_of(entry) + entry->header_cnt);

        *rec = (struct rp_record){
                .partition = backlog->partition, .offset = entry->offset, .timestamp_ms = entry->timestamp_ms,
                .log_append_time = entry->size & LOG_APPEND_TIME,
                .key_len = length_of(entry->key_len), .value_len = length_of(entry->value_len),
                .headers = entry->header_cnt ? headers_of(entry) : NULL, .header_cnt = entry->header_cnt,
        };
        if (entry->size & KEPT) {
                rec->native = &kept_of(entry)->native;
                rec->key = kept_of(entry)->key;
                rec->value = kept_of(entry)->value;
        } else {
                rec->key = entry->key_len < 0 ? NULL : bytes;
                rec->value = entry->value_len < 0 ? NULL : bytes + rec->key_len;
        }
        return entry->size & ~(uint32_t)FLAGS;
}

static void drop(struct rp_backlog_pool *pool, struct rp_backlog *backlog, struct rp_chunk *chunk)
{
        for (size_t at = 0; chunk->held && at < chunk->used;) {
                struct entry *entry = (struct entry *)(chunk->bytes + at);

                at += entry->size & ~(uint32_t)FLAGS;
                if (entry->size & KEPT && kept_of(entry)->native)
                        pool->release(kept_of(entry)->native);
        }
        backlog->bytes -= sizeof(*chunk) + chunk->size + chunk->held;
        put_back(pool, chunk);
}

static void give_back(struct rp_backlog_pool *pool, struct rp_backlog *backlog)
{
        if (backlog->lent)
                drop(pool, backlog, backlog->lent);
        backlog->lent = NULL;
}

bool rp_backlog_lend(struct rp_backlog_pool *pool, struct rp_backlog *backlog, struct rp_batch *batch)
{
        struct rp_chunk *chunk = backlog->first;

        give_back(pool, backlog);
        *batch = (struct rp_batch){ 0 };
        if (!chunk)
                return true;
        if (chunk->cnt > backlog->cap) {
                struct rp_record *grown = realloc(backlog->records, chunk->cnt * sizeof(*grown));

                if (!grown)
                        return false;
                backlog->records = grown;
                backlog->cap = chunk->cnt;
        }
        for (size_t i = 0, at = 0; i < chunk->cnt; i++)
                at += view(backlog, (struct entry *)(chunk->bytes + at), &backlog->records[i]);
        backlog->first = chunk->next;
        if (!backlog->first)
                backlog->last = NULL;
        backlog->lent = chunk;
        *batch = (struct rp_batch){ .records = backlog->records, .cnt = chunk->cnt, .next = chunk->end };
        return true;
}

void rp_backlog_clear(struct rp_backlog_pool *pool, struct rp_backlog *backlog)
{
        give_back(pool, backlog);
        for (struct rp_chunk *chunk = backlog->first, *next; chunk; chunk = next) {
                next = chunk->next;
                drop(pool, backlog, chunk);
        }
        free(backlog->records);
        *backlog = (struct rp_backlog){ .partition = backlog->partition };
}

void rp_backlog_pool_release(struct rp_backlog_pool *pool)
{
        for (struct rp_chunk *chunk = pool->idle, *next; chunk; chunk = next) {
                next = chunk->next;
                free(chunk);
        }
        pool->idle = NULL;
}
