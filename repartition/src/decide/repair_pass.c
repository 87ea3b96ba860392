#include "decide/repair_pass.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *rp_classes_print(char out[RP_CLASSES_SIZE], unsigned classes)
{
        size_t len = 0;

        out[0] = '\0';
        for (int class = 0; class < RP_CLASS_CNT; class++)
                if (classes & 1u << class)
                        len += (size_t)snprintf(out + len, RP_CLASSES_SIZE - len, "%s%s", len ? "," : "",
                                                rp_class_name(class));
        return out;
}

bool rp_classes_parse(const char *text, unsigned *classes, const char **word, size_t *len)
{
        *classes = 0;
        for (;;) {
                int class = 0;

                *word = text;
                *len = strcspn(text, ",");
                while (class < RP_CLASS_CNT &&
                       (strlen(rp_class_name(class)) != *len || memcmp(rp_class_name(class), text, *len)))
                        class++;
                if (class == RP_CLASS_CNT || class == RP_CLASS_COPIED)
                        return false;
                *classes |= 1u << class;
                text += *len;
                if (!*text)
                        return true;
                text++;
        }
}

static const char MARKED[] = "+mark";

void rp_repair_pass_print(char out[RP_NOTE_JOB_SIZE], const struct rp_repair_pass *pass)
{
        char classes[RP_CLASSES_SIZE];

        snprintf(out, RP_NOTE_JOB_SIZE,
                 "repair %s, %" PRId32 " partitions, policy %s, writes %s%s, keys %016" PRIx64 " to %016" PRIx64
                 ", pass %" PRIu64, pass->topic, pass->partition_cnt, pass->fingerprint,
                 pass->tombstones ? "tombstones" : rp_classes_print(classes, pass->include), pass->mark ? MARKED : "",
                 pass->low, pass->high, pass->number);
}

/* Takes apart what stands behind "writes". */
static bool parse_work(struct rp_repair_pass *pass, char *work)
{
        size_t len = strlen(work), mark_len = sizeof(MARKED) - 1;
        const char *word;

        if (len && work[len - 1] == ',')
                work[--len] = '\0';
        if (len > mark_len && !strcmp(work + len - mark_len, MARKED)) {
                pass->mark = true;
                work[len - mark_len] = '\0';
        }
        pass->tombstones = !strcmp(work, "tombstones");
        return pass->tombstones || rp_classes_parse(work, &pass->include, &word, &len);
}

bool rp_repair_pass_parse(struct rp_repair_pass *pass, const char *text)
{
        char work[RP_CLASSES_SIZE + sizeof(MARKED)], again[RP_NOTE_JOB_SIZE];

        *pass = (struct rp_repair_pass){ 0 };
        if (sscanf(text,
                   "repair %255[^,], %" SCNd32 " partitions, policy %31[^,], writes %69s keys %" SCNx64 " to %" SCNx64
                   ", pass %" SCNu64, pass->topic, &pass->partition_cnt, pass->fingerprint, work, &pass->low, &pass->high,
                   &pass->number) != 7 || !parse_work(pass, work))
                return false;
        rp_repair_pass_print(again, pass);
        return !strcmp(again, text);
}

bool rp_repair_pass_is_alike(const struct rp_repair_pass *a, const struct rp_repair_pass *b)
{
        return !strcmp(a->topic, b->topic) && a->partition_cnt == b->partition_cnt &&
               !strcmp(a->fingerprint, b->fingerprint) && a->include == b->include && a->tombstones == b->tombstones &&
               a->mark == b->mark;
}
