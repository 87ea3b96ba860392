#include "topic_name.h"

#include <stdio.h>
#include <string.h>

enum { LEN_MAX = 249 };

static size_t legal_len(const char *name)
{
        return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
}

bool rp_topic_name_is_legal(const char *name)
{
        struct rp_error ignored;

        return rp_topic_name_check(name, &ignored) == RP_OK;
}

rp_err_t rp_topic_name_check(const char *name, struct rp_error *err)
{
        size_t len = legal_len(name), bytes = 1;
        char why[80];

        if (name[len]) {
                while (((unsigned char)name[len + bytes] & 0xc0) == 0x80 && bytes < 4)
                        bytes++; /* the whole letter, in UTF-8 */
                snprintf(why, sizeof(why), "it holds \"%.*s\"", (int)bytes, name + len);
        } else if (!len) {
                snprintf(why, sizeof(why), "it is empty");
        } else if (len > LEN_MAX) {
                snprintf(why, sizeof(why), "it is %zu letters long", len);
        } else if (!strcmp(name, ".") || !strcmp(name, "..")) {
                snprintf(why, sizeof(why), "it would be a folder's");
        } else {
                return RP_OK;
        }
        return rp_fail(err, RP_ERR_USAGE, "\"%.300s\" cannot be a topic's name: %s; Kafka's names are 1 to %d of a-z A-Z 0-9 . _ -",
                       name, why, LEN_MAX);
}

rp_err_t rp_topic_names_check(const char *const *names, size_t cnt, struct rp_error *err)
{
        for (size_t i = 0; i < cnt; i++)
                if (rp_topic_name_check(names[i], err) != RP_OK)
                        return err->code;
        return RP_OK;
}

rp_err_t rp_topic_check_writable(const char *name, const char *jobs_topic, struct rp_error *err)
{
        static const char *const own[] = { "__consumer_offsets", "__transaction_state", "__share_group_state" };

        for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
                if (!strcmp(name, own[i]))
                        return rp_fail(err, RP_ERR_USAGE, "\"%s\" is Kafka's own topic, which brokers alone write: name one of yours",
                                       name);
        if (rp_topic_is_of_jobs(name, jobs_topic))
                return rp_fail(err, RP_ERR_USAGE, "\"%s\" is the topic of jobs, where they keep their progress: name another "
                               "topic, or another --jobs-topic", name);
        return RP_OK;
}

bool rp_topic_is_of_jobs(const char *name, const char *jobs_topic)
{
        return jobs_topic && strcmp(jobs_topic, "none") && !strcmp(name, jobs_topic);
}
