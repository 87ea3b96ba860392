#include "decide/job_list.h"

#include "decide/checkpoint.h"
#include "decide/follow_note.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { TOGETHER_MS = 60000 };

/* ---- entries --------------------------------------------------------------------------------------------------------- */

void rp_job_list_release(struct rp_job_list *list)
{
        for (size_t i = 0; i < list->cnt; i++) {
                free(list->entries[i].job);
                free(list->entries[i].descriptor);
                rp_job_fold_release(&list->entries[i].fold);
        }
        free(list->entries);
        *list = (struct rp_job_list){ 0 };
}

/* Jobs of hundreds of checkpoints come one after the other: the last one is asked first. */
static struct rp_job_entry *find(struct rp_job_list *list, const char *job, size_t len, bool is_of_tombstones)
{
        for (size_t i = list->cnt; i-- > 0;)
                if (list->entries[i].is_of_tombstones == is_of_tombstones && strlen(list->entries[i].job) == len &&
                    !memcmp(list->entries[i].job, job, len))
                        return &list->entries[i];
        return NULL;
}

static struct rp_job_entry *find_or_add(struct rp_job_list *list, const char *job, size_t len, bool is_of_tombstones)
{
        struct rp_job_entry *entry = find(list, job, len, is_of_tombstones);

        if (entry)
                return entry;
        if (list->cnt == list->cap) {
                size_t cap = list->cap ? 2 * list->cap : 16;
                struct rp_job_entry *grown = realloc(list->entries, cap * sizeof(*grown));

                if (!grown)
                        return NULL;
                list->entries = grown;
                list->cap = cap;
        }
        entry = &list->entries[list->cnt];
        *entry = (struct rp_job_entry){ .job = strndup(job, len), .is_of_tombstones = is_of_tombstones, .described_ms = -1,
                                        .committed_ms = -1 };
        if (!entry->job || !rp_job_fold_init(&entry->fold, entry->job)) {
                free(entry->job);
                return NULL;
        }
        list->cnt++;
        return entry;
}

static void add_damage(struct rp_job_list *list, const struct rp_job_said *said, const char *what)
{
        struct rp_job_damage *damage = list->damage_cnt < RP_JOB_DAMAGE_MAX ? &list->damages[list->damage_cnt] : NULL;

        list->damage_cnt++;
        if (!damage)
                return;
        *damage = (struct rp_job_damage){ .offset = said->offset, .what = what };
        damage->key_len = said->key_len < sizeof(damage->key) ? said->key_len : sizeof(damage->key);
        if (said->key)
                memcpy(damage->key, said->key, damage->key_len);
}

/* ---- records --------------------------------------------------------------------------------------------------------- */

static bool is_json(const char *text)
{
        json_t *root = json_loads(text, 0, NULL);
        bool is_object = json_is_object(root);

        json_decref(root);
        return is_object;
}

/* What the text cannot be read as; NULL: it is well, or the key says nothing that this version knows of. */
static const char *find_damage(const char *kind, const char *text)
{
        struct rp_job_done done;
        bool is_full;

        if (!strncmp(kind, "checkpoint|", 11))
                return rp_checkpoint_seq(text, &is_full) < 0 ? "no checkpoint" : NULL;
        if (!strncmp(kind, "waypoint|", 9))
                return is_json(text) ? NULL : "no waypoint";
        if (!strncmp(kind, "progress|", 9))
                return is_json(text) ? NULL : "no position";
        if (!strncmp(kind, "done|", 5))
                return rp_job_done_parse(&done, text) ? NULL : "no sum of what was done";
        if (!strncmp(kind, "judged|", 7))
                return rp_job_judged_parse(NULL, 0, text) ? NULL : "no ranges";
        return "of a kind that is not known";
}

static bool describe(struct rp_job_list *list, struct rp_job_entry *entry, const char *text, const struct rp_job_said *said)
{
        struct rp_job_descriptor *descriptor = malloc(sizeof(*descriptor));

        if (!descriptor)
                return false;
        if (text && !rp_job_descriptor_parse(descriptor, text)) {
                add_damage(list, said, "no description of a job");
                free(descriptor);
                return true;
        }
        free(entry->descriptor);
        entry->descriptor = text ? descriptor : NULL;
        entry->described_ms = text ? said->timestamp_ms : -1;
        if (!text)
                free(descriptor);
        return true;
}

/* kind: what stands behind "JOB|". */
static bool take(struct rp_job_list *list, struct rp_job_entry *entry, const char *kind, const char *text,
                 const struct rp_job_said *said)
{
        const char *damage = text ? find_damage(kind, text) : NULL;

        if (damage) {
                add_damage(list, said, damage);
                return true;
        }
        entry->checkpoint_cnt += text && !strncmp(kind, "checkpoint|", 11);
        entry->waypoint_cnt += text && !strncmp(kind, "waypoint|", 9);
        if (!strncmp(kind, "progress|", 9) || !strncmp(kind, "done|", 5) || !strncmp(kind, "judged|", 7))
                return rp_job_fold_add(&entry->fold, said->key, said->key_len, text, text ? said->value_len : 0);
        return true;
}

static bool is_of_tombstones(const char *kind)
{
        return !strcmp(kind, RP_KIND_TOMBSTONES) || !strcmp(kind, "done|" RP_DONE_TOMBSTONES) ||
               !strcmp(kind, "judged|" RP_DONE_TOMBSTONES);
}

/* Names come from a topic that others can write to: one that could not even be printed as JSON is none. */
static bool is_name(const char *key, size_t len)
{
        json_t *string = len ? json_stringn(key, len) : NULL;
        bool is_well = string && !memchr(key, '\0', len);

        json_decref(string);
        return is_well;
}

bool rp_job_list_add(struct rp_job_list *list, const struct rp_job_said *said)
{
        const char *key = said->key, *bar = key ? memchr(key, '|', said->key_len) : NULL;
        size_t len = bar ? (size_t)(bar - key) : said->key_len;
        struct rp_job_entry *entry;
        char *kind = NULL, *text = NULL;
        bool is_well;

        if (!key || !is_name(key, said->key_len)) {
                add_damage(list, said, key ? "a key that is no name" : "no key");
                return true;
        }
        kind = bar ? strndup(bar + 1, said->key_len - len - 1) : NULL;
        entry = find_or_add(list, key, len, kind && is_of_tombstones(kind));
        text = said->value ? strndup(said->value, said->value_len) : NULL;
        is_well = entry && (!bar || kind) && (!said->value || text);
        if (is_well) {
                uint64_t damage_cnt = list->damage_cnt;

                is_well = kind && strcmp(kind, RP_KIND_TOMBSTONES) ? take(list, entry, kind, text, said)
                                                                   : describe(list, entry, text, said);
                if (text && damage_cnt == list->damage_cnt && said->timestamp_ms > entry->committed_ms)
                        entry->committed_ms = said->timestamp_ms;
        }
        free(kind);
        free(text);
        return is_well;
}

static int by_name(const void *a, const void *b)
{
        const struct rp_job_entry *x = a, *y = b;
        int order = strcmp(x->job, y->job);

        return order ? order : x->is_of_tombstones - y->is_of_tombstones;
}

/*
 * Members of a follow in place sum up by partition. What was said of a topic that was made anew since counts no more; members
 * that began a job together have each their own idea of when that was.
 */
static void sum_up(struct rp_job_entry *entry)
{
        int64_t since_ms = entry->descriptor ? entry->descriptor->since_ms : 0;

        for (size_t i = 0; i < entry->fold.saying_cnt; i++) {
                const struct rp_job_saying *saying = &entry->fold.sayings[i];
                struct rp_job_done done;

                if (strncmp(saying->key, "done|", 5) || !rp_job_done_parse(&done, saying->text) ||
                    (since_ms > TOGETHER_MS && done.since_ms < since_ms - TOGETHER_MS))
                        continue;
                entry->has_done = true;
                entry->done.is_finished |= done.is_finished;
                rp_job_done_add(&entry->done, &done);
        }
}

/* A job of which nothing could be read at all, or everything was taken back, is none. */
void rp_job_list_sort(struct rp_job_list *list)
{
        size_t cnt = 0;

        for (size_t i = 0; i < list->cnt; i++) {
                struct rp_job_entry *entry = &list->entries[i];

                if (entry->descriptor || entry->committed_ms >= 0) {
                        sum_up(entry);
                        list->entries[cnt++] = *entry;
                        continue;
                }
                free(entry->job);
                rp_job_fold_release(&entry->fold);
        }
        list->cnt = cnt;
        if (cnt)
                qsort(list->entries, cnt, sizeof(*list->entries), by_name);
}

/* ---- about one ------------------------------------------------------------------------------------------------------- */

bool rp_job_entry_is_about(const struct rp_job_entry *entry, const char *topic)
{
        const struct rp_job_descriptor *descriptor = entry->descriptor;
        bool is_about = descriptor && !strcmp(descriptor->target.topic, topic);

        for (int32_t s = 0; descriptor && s < descriptor->source_cnt; s++)
                is_about |= !strcmp(descriptor->sources[s].topic, topic);
        return is_about;
}

static bool is_in_place(const struct rp_job_descriptor *descriptor)
{
        return descriptor->source_cnt == 1 && !strcmp(descriptor->sources[0].topic, descriptor->target.topic) &&
               !strcmp(descriptor->sources[0].cluster, descriptor->target.cluster);
}

const char *rp_job_entry_kind(const struct rp_job_entry *entry)
{
        const struct rp_job_descriptor *descriptor = entry->descriptor;

        if (!descriptor)
                return NULL;
        return !strcmp(descriptor->kind, "follow") && is_in_place(descriptor) ? "follow-in-place" : descriptor->kind;
}

/* ---- how far it has come --------------------------------------------------------------------------------------------- */

void rp_job_lane_note(struct rp_job_lane *lane, const char *text)
{
        struct rp_follow_note follow;
        struct rp_note note;

        if (rp_note_parse(&note, text)) {
                lane->first = note.first;
                lane->pass_end = note.pass_cnt ? note.ends[note.pass_cnt - 1] : -1;
        } else if (rp_follow_note_parse(&follow, text)) {
                lane->first = follow.first;
        }
}

void rp_job_lanes_judged(struct rp_job_lane *lanes, int32_t cnt, const struct rp_job_entry *entry)
{
        const char *text = rp_job_fold_said(&entry->fold, entry->is_of_tombstones ? "judged|" RP_DONE_TOMBSTONES
                                                                                  : "judged|" RP_DONE_COPIES);
        struct rp_range *ranges = text ? calloc((size_t)cnt + 1, sizeof(*ranges)) : NULL;

        if (ranges && rp_job_judged_parse(ranges, cnt, text))
                for (int32_t p = 0; p < cnt; p++) {
                        lanes[p].first = lanes[p].first < 0 ? ranges[p].first : lanes[p].first;
                        lanes[p].pass_end = lanes[p].pass_end < 0 ? ranges[p].end : lanes[p].pass_end;
                }
        free(ranges);
}

/* Numbers of a topic that others write to may be any; -1 is none. */
static void add_offsets(int64_t *sum, int64_t from, int64_t to)
{
        int64_t more = to > from ? to - from : 0;

        *sum = *sum < 0 ? 0 : *sum;
        *sum = *sum > INT64_MAX - more ? INT64_MAX : *sum + more;
}

struct rp_job_extent rp_job_extent(const struct rp_job_lane *lanes, size_t cnt)
{
        struct rp_job_extent extent = { -1, -1, -1 };

        for (size_t i = 0; i < cnt; i++) {
                const struct rp_job_lane *lane = &lanes[i];
                int64_t from = lane->next >= 0 ? lane->next : lane->first;

                if (lane->next >= 0 && lane->first >= 0)
                        add_offsets(&extent.done, lane->first, lane->next);
                if (lane->next >= 0 && lane->pass_end >= 0)
                        add_offsets(&extent.in_pass, lane->next, lane->pass_end);
                if (lane->end >= 0 && from >= 0)
                        add_offsets(&extent.left, from, lane->end);
        }
        return extent;
}
