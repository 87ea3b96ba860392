#include "decide/job_record.h"

#include "decide/checkpoint.h"
#include "decide/waypoint.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOB_RECORD_VERSION = 1, SHARD_MAX = 10000, PARTITION_MAX = 1000000 };

/* ---- the descriptor ------------------------------------------------------------------------------------------------ */

static json_t *end_json(const struct rp_job_end *end)
{
        return json_pack("{s:s, s:s, s:s, s:I}", "topic", end->topic, "id", end->id, "cluster", end->cluster, "partitions",
                         (json_int_t)end->partition_cnt);
}

char *rp_job_descriptor_print(const struct rp_job_descriptor *descriptor)
{
        bool is_one = descriptor->source_cnt == 1;
        json_t *source = is_one ? end_json(&descriptor->sources[0]) : json_array();
        json_t *root = json_pack("{s:i, s:s, s:s, s:s, s:o, s:o, s:s, s:s, s:I}", "keyroute", JOB_RECORD_VERSION, "kind",
                                 descriptor->kind, "job", descriptor->identity, "policy", descriptor->fingerprint,
                                 is_one ? "source" : "sources", source, "target", end_json(&descriptor->target), "by",
                                 descriptor->by, "version", descriptor->version, "since_ms",
                                 (json_int_t)descriptor->since_ms);
        char *text;

        for (int32_t s = 0; root && !is_one && s < descriptor->source_cnt; s++)
                json_array_append_new(source, end_json(&descriptor->sources[s]));
        if (root && *descriptor->rule)
                json_object_set_new(root, "rule", json_string(descriptor->rule));
        if (root && *descriptor->include)
                json_object_set_new(root, "include", json_string(descriptor->include));
        if (root && descriptor->marks)
                json_object_set_new(root, "mark", json_true());
        text = root ? json_dumps(root, JSON_COMPACT) : NULL;

        json_decref(root);
        return text;
}

static bool copy_text(char *out, size_t size, const char *text)
{
        return snprintf(out, size, "%s", text) < (int)size;
}

static bool parse_end(struct rp_job_end *end, const json_t *json)
{
        const char *topic, *id, *cluster;
        json_int_t partitions;

        if (json_unpack((json_t *)json, "{s:s, s:s, s:s, s:I}", "topic", &topic, "id", &id, "cluster", &cluster,
                        "partitions", &partitions) != 0 || partitions < 0 || partitions > PARTITION_MAX)
                return false;
        end->partition_cnt = (int32_t)partitions;
        return copy_text(end->topic, sizeof(end->topic), topic) && copy_text(end->id, sizeof(end->id), id) &&
               copy_text(end->cluster, sizeof(end->cluster), cluster);
}

static bool parse_sources(struct rp_job_descriptor *descriptor, const json_t *root)
{
        const json_t *source = json_object_get(root, "source"), *sources = json_object_get(root, "sources");
        size_t cnt = source ? 1 : json_array_size(sources);
        bool is_valid = cnt && cnt <= RP_TOPICS_MAX;

        for (size_t s = 0; is_valid && s < cnt; s++)
                is_valid = parse_end(&descriptor->sources[s], source ? source : json_array_get(sources, s));
        descriptor->source_cnt = (int32_t)cnt;
        return is_valid;
}

bool rp_job_descriptor_parse(struct rp_job_descriptor *descriptor, const char *text)
{
        json_t *root = text ? json_loads(text, 0, NULL) : NULL;
        json_t *target;
        const char *kind, *identity, *fingerprint, *by, *tool, *rule = "", *include = "";
        json_int_t since;
        int version, marks = 0;
        bool is_valid = false;

        *descriptor = (struct rp_job_descriptor){ 0 };
        if (root && json_unpack(root, "{s:i, s:s, s:s, s:s, s:o, s:s, s:s, s:I, s?s, s?s, s?b}", "keyroute", &version, "kind",
                                &kind, "job", &identity, "policy", &fingerprint, "target", &target, "by", &by, "version",
                                &tool, "since_ms", &since, "rule", &rule, "include", &include, "mark", &marks) == 0)
                is_valid = version == JOB_RECORD_VERSION && copy_text(descriptor->kind, sizeof(descriptor->kind), kind) &&
                           copy_text(descriptor->identity, sizeof(descriptor->identity), identity) &&
                           copy_text(descriptor->fingerprint, sizeof(descriptor->fingerprint), fingerprint) &&
                           copy_text(descriptor->by, sizeof(descriptor->by), by) &&
                           copy_text(descriptor->version, sizeof(descriptor->version), tool) &&
                           copy_text(descriptor->rule, sizeof(descriptor->rule), rule) &&
                           copy_text(descriptor->include, sizeof(descriptor->include), include) &&
                           parse_sources(descriptor, root) && parse_end(&descriptor->target, target);
        if (is_valid)
                descriptor->since_ms = since;
        descriptor->marks = marks;
        json_decref(root);
        return is_valid;
}

void rp_job_descriptor_set_rule(struct rp_job_descriptor *descriptor, const kr_rule_t *rule)
{
        snprintf(descriptor->fingerprint, sizeof(descriptor->fingerprint), "%s", kr_rule_fingerprint(rule));
        snprintf(descriptor->rule, sizeof(descriptor->rule), "%s", kr_rule_describe(rule));
}

static bool end_differs(const char *side, const struct rp_job_end *stored, const struct rp_job_end *now, char *out, size_t size)
{
        if (*stored->cluster && *now->cluster && strcmp(stored->cluster, now->cluster)) {
                snprintf(out, size, "the %s \"%.120s\" is in another cluster than before (%s, was %s)", side, now->topic,
                         now->cluster, stored->cluster);
                return true;
        }
        if (*stored->id && *now->id && !strcmp(stored->topic, now->topic) && strcmp(stored->id, now->id)) {
                snprintf(out, size, "the %s \"%.120s\" was deleted and made again since this job began (its id was %s and is %s)",
                         side, now->topic, stored->id, now->id);
                return true;
        }
        return false;
}

bool rp_job_descriptor_differs(const struct rp_job_descriptor *stored, const struct rp_job_descriptor *now, char *out,
                               size_t size)
{
        /* Both stand by name; a job with other topics is another job, by its identity. */
        for (int32_t s = 0; s < stored->source_cnt && s < now->source_cnt; s++)
                if (end_differs("source topic", &stored->sources[s], &now->sources[s], out, size))
                        return true;
        return end_differs("target topic", &stored->target, &now->target, out, size);
}

/* ---- positions and keys ---------------------------------------------------------------------------------------------- */

char *rp_job_progress_print(int64_t next, const char *note)
{
        json_t *root = json_pack("{s:i, s:I}", "keyroute", JOB_RECORD_VERSION, "next", (json_int_t)next);
        char *text = NULL;

        if (!root)
                return NULL;
        if (!note || json_object_set_new(root, "note", json_string(note)) == 0)
                text = json_dumps(root, JSON_COMPACT);
        json_decref(root);
        return text;
}

void rp_job_progress_key(char out[RP_JOB_KEY_SIZE], const char *job, const char *topic, int32_t partition)
{
        snprintf(out, RP_JOB_KEY_SIZE, "%s|progress|%s|%" PRId32, job, topic, partition);
}

void rp_job_checkpoint_key(char out[RP_JOB_KEY_SIZE], const char *job, int shard, int64_t seq, bool is_full)
{
        if (is_full)
                snprintf(out, RP_JOB_KEY_SIZE, "%s|checkpoint|%d.%" PRId64, job, shard, seq);
        else
                snprintf(out, RP_JOB_KEY_SIZE, "%s|checkpoint|%d.d%" PRId64, job, shard, seq % RP_CHECKPOINT_SLOTS);
}

void rp_job_waypoint_key(char out[RP_JOB_KEY_SIZE], const char *job, int32_t partition, int32_t slot)
{
        snprintf(out, RP_JOB_KEY_SIZE, "%s|waypoint|%" PRId32 ".%" PRId32, job, partition, slot);
}

bool rp_job_name_is_legal(const char *job)
{
        return *job && !strchr(job, '|') && strlen(job) <= 600;
}

rp_err_t rp_job_fail_name(const char *job, struct rp_error *err)
{
        return rp_fail(err, RP_ERR_USAGE, "--job \"%.200s\": a name without the character | and of up to 600 bytes, please, or "
                       "--jobs-topic none", job);
}

/* ---- what a job in place has done ---------------------------------------------------------------------------------------- */

json_t *rp_job_done_json(const struct rp_job_done *done)
{
        json_t *classes = json_object();
        json_t *root = json_pack("{s:i, s:I, s:b, s:I, s:o}", "keyroute", JOB_RECORD_VERSION, "since_ms",
                                 (json_int_t)done->since_ms, "finished", done->is_finished, "bytes", (json_int_t)done->bytes,
                                 "classes", classes);

        for (int class = 0; root && class < RP_CLASS_CNT; class++)
                if (done->records[class])
                        json_object_set_new(classes, rp_class_name(class), json_integer((json_int_t)done->records[class]));
        return root;
}

char *rp_job_done_print(const struct rp_job_done *done)
{
        json_t *root = rp_job_done_json(done);
        char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;

        json_decref(root);
        return text;
}

bool rp_job_done_read(struct rp_job_done *done, const json_t *json)
{
        json_t *classes = NULL;
        json_int_t since = 0, bytes = 0;
        int version = 0, is_finished = 0;
        bool is_valid = json && json_unpack((json_t *)json, "{s:i, s:I, s:b, s:I, s:o}", "keyroute", &version, "since_ms",
                                            &since, "finished", &is_finished, "bytes", &bytes, "classes", &classes) == 0 &&
                        version == JOB_RECORD_VERSION && since >= 0 && bytes >= 0;

        *done = (struct rp_job_done){ .since_ms = since, .is_finished = is_finished, .bytes = (uint64_t)bytes };
        for (int class = 0; is_valid && class < RP_CLASS_CNT; class++) {
                json_int_t records = json_integer_value(json_object_get(classes, rp_class_name(class)));

                is_valid = records >= 0;
                done->records[class] = (uint64_t)records;
        }
        return is_valid;
}

bool rp_job_done_parse(struct rp_job_done *done, const char *text)
{
        json_t *root = text ? json_loads(text, 0, NULL) : NULL;
        bool is_valid = rp_job_done_read(done, root);

        json_decref(root);
        return is_valid;
}

void rp_job_done_add(struct rp_job_done *sum, const struct rp_job_done *one)
{
        for (int class = 0; class < RP_CLASS_CNT; class++)
                sum->records[class] += one->records[class];
        sum->bytes += one->bytes;
}

uint64_t rp_job_done_records(const struct rp_job_done *done)
{
        uint64_t sum = 0;

        for (int class = 0; class < RP_CLASS_CNT; class++)
                sum += done->records[class];
        return sum;
}

char *rp_job_judged_print(const struct rp_range *ranges, int32_t cnt)
{
        json_t *offsets = json_array(), *root = json_pack("{s:i, s:o}", "keyroute", JOB_RECORD_VERSION, "ranges", offsets);
        char *text = NULL;

        for (int32_t p = 0; root && p < cnt; p++) {
                json_array_append_new(offsets, json_integer(ranges[p].first));
                json_array_append_new(offsets, json_integer(ranges[p].end));
        }
        if (root)
                text = json_dumps(root, JSON_COMPACT);
        json_decref(root);
        return text;
}

bool rp_job_judged_parse(struct rp_range *ranges, int32_t cnt, const char *text)
{
        json_t *root = text ? json_loads(text, 0, NULL) : NULL, *offsets = json_object_get(root, "ranges");
        bool is_valid = json_is_array(offsets);

        for (int32_t p = 0; p < cnt; p++) {
                json_t *first = json_array_get(offsets, 2 * (size_t)p), *end = json_array_get(offsets, 2 * (size_t)p + 1);

                ranges[p].first = json_is_integer(first) ? json_integer_value(first) : -1;
                ranges[p].end = json_is_integer(end) ? json_integer_value(end) : -1;
        }
        json_decref(root);
        return is_valid;
}

void rp_job_saying_key(char out[RP_JOB_KEY_SIZE], const char *job, const char *kind, const char *what)
{
        snprintf(out, RP_JOB_KEY_SIZE, "%s|%s|%s", job, kind, what);
}

/* ---- folding ------------------------------------------------------------------------------------------------------------ */

bool rp_job_fold_init(struct rp_job_fold *fold, const char *job)
{
        *fold = (struct rp_job_fold){ .job = strdup(job) };
        return fold->job;
}

void rp_job_fold_release(struct rp_job_fold *fold)
{
        for (size_t i = 0; i < fold->position_cnt; i++) {
                free(fold->positions[i].topic);
                free(fold->positions[i].note);
        }
        for (size_t i = 0; i < fold->checkpoint_cnt; i++)
                free(fold->checkpoints[i].text);
        for (size_t i = 0; i < fold->waypoint_cnt; i++)
                free(fold->waypoints[i].text);
        for (int32_t p = 0; p < fold->waypoint_partition_cnt; p++)
                free(fold->waypoint_slots[p]);
        for (size_t i = 0; i < fold->saying_cnt; i++) {
                free(fold->sayings[i].key);
                free(fold->sayings[i].text);
        }
        free(fold->sayings);
        free(fold->waypoint_slots);
        free(fold->waypoints);
        free(fold->positions);
        free(fold->checkpoints);
        free(fold->descriptor);
        free(fold->job);
        *fold = (struct rp_job_fold){ 0 };
}

static struct rp_job_position *find_position(const struct rp_job_fold *fold, const char *topic, size_t topic_len,
                                             int32_t partition)
{
        for (size_t i = 0; i < fold->position_cnt; i++)
                if (fold->positions[i].partition == partition && strlen(fold->positions[i].topic) == topic_len &&
                    !memcmp(fold->positions[i].topic, topic, topic_len))
                        return &fold->positions[i];
        return NULL;
}

/* rest: TOPIC|P */
static bool add_position(struct rp_job_fold *fold, const char *rest, const char *text)
{
        const char *bar = strrchr(rest, '|');
        int32_t partition = bar ? (int32_t)strtol(bar + 1, NULL, 10) : -1;
        struct rp_job_position *position;
        const char *note = NULL;
        json_int_t next = -1;
        json_t *root;

        if (!bar || partition < 0)
                return true;
        root = text ? json_loads(text, 0, NULL) : NULL;
        if (root && (json_unpack(root, "{s:I, s?s}", "next", &next, "note", &note) != 0 || next < 0))
                next = -1;
        position = find_position(fold, rest, (size_t)(bar - rest), partition);
        if (!position) {
                struct rp_job_position *grown = realloc(fold->positions, (fold->position_cnt + 1) * sizeof(*grown));

                if (grown)
                        fold->positions = grown;
                if (!grown || !(grown[fold->position_cnt].topic = strndup(rest, (size_t)(bar - rest)))) {
                        json_decref(root);
                        return false;
                }
                position = &grown[fold->position_cnt++];
                position->partition = partition;
                position->note = NULL;
        }
        free(position->note);
        position->next = next;
        position->note = note ? strdup(note) : NULL;
        json_decref(root);
        return !note || position->note;
}

/* Compaction removes a full one only by its own tombstone, so every key comes once, but for those that go round. */
static bool add_checkpoint(struct rp_job_fold *fold, const char *rest, const char *text)
{
        int shard = atoi(rest);
        bool is_full;
        int64_t seq = text ? rp_checkpoint_seq(text, &is_full) : -1;

        if (seq < 0 || shard < 0 || shard >= SHARD_MAX)
                return true;
        if (fold->checkpoint_cnt == fold->checkpoint_cap) {
                size_t cap = fold->checkpoint_cap ? 2 * fold->checkpoint_cap : 64;
                struct rp_job_checkpoint *grown = realloc(fold->checkpoints, cap * sizeof(*grown));

                if (!grown)
                        return false;
                fold->checkpoints = grown;
                fold->checkpoint_cap = cap;
        }
        fold->checkpoints[fold->checkpoint_cnt] = (struct rp_job_checkpoint){ .shard = shard, .text = strdup(text) };
        if (!fold->checkpoints[fold->checkpoint_cnt].text)
                return false;
        fold->checkpoint_cnt++;
        fold->next_seq = seq >= fold->next_seq ? seq + 1 : fold->next_seq;
        fold->shard_cnt = shard >= fold->shard_cnt ? shard + 1 : fold->shard_cnt;
        return true;
}

/* The place that says which waypoint is in the slot; NULL when out of memory. */
static size_t *waypoint_slot(struct rp_job_fold *fold, int32_t partition, int32_t slot)
{
        if (partition >= fold->waypoint_partition_cnt) {
                size_t **grown = realloc(fold->waypoint_slots, ((size_t)partition + 1) * sizeof(*grown));

                if (!grown)
                        return NULL;
                fold->waypoint_slots = grown;
                while (fold->waypoint_partition_cnt <= partition)
                        grown[fold->waypoint_partition_cnt++] = NULL;
        }
        if (!fold->waypoint_slots[partition])
                fold->waypoint_slots[partition] = calloc(RP_WAYPOINT_SLOTS, sizeof(size_t));
        return fold->waypoint_slots[partition] ? &fold->waypoint_slots[partition][slot] : NULL;
}

/* Those that compaction would have taken away are dropped; the room of them is used again once it is half of all. */
static void close_waypoint_gaps(struct rp_job_fold *fold)
{
        size_t cnt = 0;

        for (size_t i = 0; i < fold->waypoint_cnt; i++) {
                const struct rp_job_waypoint *waypoint = &fold->waypoints[i];

                if (!waypoint->text)
                        continue;
                fold->waypoints[cnt++] = *waypoint;
                fold->waypoint_slots[waypoint->partition][waypoint->slot] = cnt;
        }
        fold->waypoint_cnt = cnt;
}

static bool reserve_waypoint(struct rp_job_fold *fold)
{
        size_t cap = fold->waypoint_cap ? 2 * fold->waypoint_cap : 64;
        struct rp_job_waypoint *grown;

        if (fold->waypoint_cnt < fold->waypoint_cap)
                return true;
        close_waypoint_gaps(fold);
        if (fold->waypoint_cnt < fold->waypoint_cap / 2)
                return true;
        grown = realloc(fold->waypoints, cap * sizeof(*grown));
        if (!grown)
                return false;
        fold->waypoints = grown;
        fold->waypoint_cap = cap;
        return true;
}

/* rest: P.SLOT. Takes the text. */
static bool add_waypoint(struct rp_job_fold *fold, const char *rest, char *text)
{
        const char *dot = strchr(rest, '.');
        long partition = strtol(rest, NULL, 10), slot = dot ? strtol(dot + 1, NULL, 10) : -1;
        size_t *there;

        if (fold->is_brief || partition < 0 || partition >= PARTITION_MAX || slot < 0 || slot >= RP_WAYPOINT_SLOTS) {
                free(text);
                return true;
        }
        there = waypoint_slot(fold, (int32_t)partition, (int32_t)slot);
        if (!there) {
                free(text);
                return false;
        }
        if (*there) {
                free(fold->waypoints[*there - 1].text);
                fold->waypoints[*there - 1].text = NULL;
                *there = 0;
        }
        if (!text)
                return true;
        if (!reserve_waypoint(fold)) {
                free(text);
                return false;
        }
        fold->waypoints[fold->waypoint_cnt++] = (struct rp_job_waypoint){ text, (int32_t)partition, (int32_t)slot };
        *there = fold->waypoint_cnt;
        return true;
}

/* No more of them than there can be: whoever writes to the topic must not make every run carry what means nothing. */
static bool is_saying(const char *key)
{
        size_t len = !strncmp(key, "done|", 5) ? 5 : !strncmp(key, "judged|", 7) ? 7 : 0;
        const char *what = key + len;
        char *end;
        long partition = strtol(what, &end, 10);

        if (!len)
                return !strcmp(key, RP_KIND_TOMBSTONES);
        return !strcmp(what, RP_DONE_COPIES) || !strcmp(what, RP_DONE_TOMBSTONES) ||
               (*what >= '0' && *what <= '9' && !*end && partition < PARTITION_MAX);
}

/* Takes the text. */
static bool add_saying(struct rp_job_fold *fold, const char *key, char *text)
{
        struct rp_job_saying *saying = NULL;

        for (size_t i = 0; !saying && i < fold->saying_cnt; i++)
                if (!strcmp(fold->sayings[i].key, key))
                        saying = &fold->sayings[i];
        if (!saying) {
                struct rp_job_saying *grown = realloc(fold->sayings, (fold->saying_cnt + 1) * sizeof(*grown));

                if (grown)
                        fold->sayings = grown;
                if (!grown || !(grown[fold->saying_cnt].key = strdup(key))) {
                        free(text);
                        return false;
                }
                saying = &grown[fold->saying_cnt++];
                saying->text = NULL;
        }
        free(saying->text);
        saying->text = text;
        return true;
}

bool rp_job_fold_add(struct rp_job_fold *fold, const void *key, size_t key_len, const void *value, size_t value_len)
{
        static const char progress[] = "progress|", checkpoint[] = "checkpoint|", waypoint[] = "waypoint|";
        size_t job_len = strlen(fold->job);
        char *rest, *text;
        bool is_well = true;

        if (!key || key_len < job_len || memcmp(key, fold->job, job_len) != 0 ||
            (key_len > job_len && ((const char *)key)[job_len] != '|'))
                return true;
        text = value ? strndup(value, value_len) : NULL;
        rest = strndup((const char *)key + job_len, key_len - job_len);
        if (!rest || (value && !text)) {
                is_well = false;
        } else if (!*rest) {
                free(fold->descriptor);
                fold->descriptor = text;
                text = NULL;
        } else if (!strncmp(rest + 1, progress, sizeof(progress) - 1)) {
                is_well = add_position(fold, rest + sizeof(progress), text);
        } else if (!strncmp(rest + 1, waypoint, sizeof(waypoint) - 1)) {
                is_well = add_waypoint(fold, rest + sizeof(waypoint), text);
                text = NULL;
        } else if (!strncmp(rest + 1, checkpoint, sizeof(checkpoint) - 1)) {
                is_well = add_checkpoint(fold, rest + sizeof(checkpoint), text);
        } else if (is_saying(rest + 1)) {
                is_well = add_saying(fold, rest + 1, text);
                text = NULL;
        }
        free(rest);
        free(text);
        return is_well;
}

const char *rp_job_fold_said(const struct rp_job_fold *fold, const char *key)
{
        for (size_t i = 0; i < fold->saying_cnt; i++)
                if (!strcmp(fold->sayings[i].key, key))
                        return fold->sayings[i].text;
        return NULL;
}

int64_t rp_job_fold_epoch(const struct rp_job_fold *fold)
{
        struct rp_job_descriptor descriptor;

        return rp_job_descriptor_parse(&descriptor, fold->descriptor) ? descriptor.since_ms : 0;
}

bool rp_job_fold_progress(const struct rp_job_fold *fold, const char *topic, struct rp_progress *progress)
{
        for (size_t i = 0; i < fold->position_cnt; i++) {
                const struct rp_job_position *position = &fold->positions[i];
                int32_t place = rp_topics_find(fold->topics, topic, position->topic, position->partition);

                if (place >= 0 && place < progress->cnt &&
                    !rp_progress_set(progress, place, position->next, position->note))
                        return false;
        }
        return true;
}
