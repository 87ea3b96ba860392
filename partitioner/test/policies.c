#include "policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static char *vformat(bool quotes, const char *fmt, va_list args)
{
        char *text;

        if (vasprintf(&text, fmt, args) < 0)
                fail();
        for (char *c = text; quotes && *c; c++)
                if (*c == '\'')
                        *c = '"';
        return text;
}

static char *format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *format(const char *fmt, ...)
{
        va_list args;
        char *text;

        va_start(args, fmt);
        text = vformat(true, fmt, args);
        va_end(args);
        return text;
}

static kr_policy_t *parse(const char *rule, struct kr_error *err)
{
        char *text = format("{'keyroute':1,'topics':{'t':{%s}}}", rule);
        kr_policy_t *policy = kr_policy_parse(text, strlen(text), "p.json", err);

        free(text);
        return policy;
}

kr_policy_t *policy_of(const char *rule_fmt, ...)
{
        struct kr_error err;
        kr_policy_t *policy;
        va_list args;
        char *rule;

        va_start(args, rule_fmt);
        rule = vformat(true, rule_fmt, args);
        va_end(args);
        policy = parse(rule, &err);
        free(rule);
        if (!policy)
                fail_msg("%s", err.text);
        return policy;
}

const kr_rule_t *rule_of(const kr_policy_t *policy)
{
        return kr_policy_rule_at(policy, 0);
}

const char *error_of(const char *rule)
{
        static struct kr_error err;
        kr_policy_t *policy;

        memset(&err, 0, sizeof(err));
        policy = parse(rule, &err);
        if (policy) {
                kr_policy_free(policy);
                fail_msg("this rule was accepted: %s", rule);
        }
        return err.text;
}

int folder_setup(void **state)
{
        (void)state;
        strcpy(folder, "/tmp/keyroute-test-XXXXXX");
        return mkdtemp(folder) ? 0 : -1;
}

int folder_teardown(void **state)
{
        DIR *dir = opendir(folder);

        (void)state;
        for (struct dirent *entry; dir && (entry = readdir(dir));) {
                char path[400];

                snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
                unlink(path);
        }
        if (dir)
                closedir(dir);
        return rmdir(folder);
}

const char *file_write(const char *name, const char *fmt, ...)
{
        static char paths[4][400];
        static unsigned turn;
        char *path = paths[turn++ % 4];
        size_t len = strlen(name);
        va_list args;
        FILE *file;
        char *text;

        snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
        va_start(args, fmt);
        text = vformat(len > 5 && !strcmp(name + len - 5, ".json"), fmt, args);
        va_end(args);
        file = fopen(path, "wb");
        if (!file || fputs(text, file) < 0 || fclose(file))
                fail_msg("cannot write %s", path);
        free(text);
        return path;
}

kr_policy_t *file_load(const char *path)
{
        struct kr_error err;
        kr_policy_t *policy = kr_policy_load(path, &err);

        if (!policy)
                fail_msg("%s", err.text);
        return policy;
}
