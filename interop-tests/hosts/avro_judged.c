/*
 * Judged projections against ours. stdin: lines of AvroJudge.java, "writer TAB reader TAB paths TAB form TAB key in hex
 * TAB expected". Prints each line that we answer otherwise with our answer behind it, then how many were compared.
 * Exit 0 when all agree, 1 when some do not, 2 for input that is no such line.
 */
#include "key/schemas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN_CNT = 6, PATHS_MAX = 1024 };

static size_t read_hex(const char *text, unsigned char *out)
{
        unsigned byte;
        size_t len = 0;

        for (; sscanf(text, "%2x", &byte) == 1; text += 2)
                out[len++] = (unsigned char)byte;
        return len;
}

static bool agrees(struct kr_bytes bytes, const char *expected)
{
        unsigned char *wanted;
        size_t len;
        bool same;

        if (!strcmp(expected, "missing"))
                return false;
        wanted = malloc(strlen(expected) / 2 + 1);
        len = wanted ? read_hex(expected, wanted) : 0;
        same = wanted && len == bytes.len && (!len || !memcmp(wanted, bytes.data, len));
        free(wanted);
        return same;
}

static bool compare(const struct kr_schemas *schemas, char *const *column)
{
        char paths[PATHS_MAX], *rest = paths, *path;
        const char *list[KR_AVRO_SLOT_MAX];
        struct kr_avro_projection projection = {
                list, 0, strcmp(column[3], "java") ? KR_AVRO_AS_AVRO : KR_AVRO_AS_JAVA, column[1],
        };
        size_t len = strlen(column[4]) / 2;
        unsigned char *key = malloc(len ? len : 1); /* no byte more, so that a sanitizer sees one read too far */
        struct kr_scratch scratch = { .used = 0 };
        struct kr_bytes bytes = { key, len };
        struct kr_error err = { "" };
        struct kr_avro_plan *plan;
        kr_key_outcome_t outcome = KR_KEY_MISSING;
        bool same;

        if (!key || strlen(column[2]) >= sizeof(paths))
                abort();
        strcpy(paths, column[2]);
        while ((path = strtok_r(rest, ",", &rest)))
                list[projection.path_cnt++] = path;
        read_hex(column[4], key);
        plan = schemas->compile(column[0], NULL, 0, &projection, &err);
        if (plan)
                outcome = kr_avro_plan_project(plan, &bytes, &scratch);
        same = plan && (outcome == KR_KEY_PROJECTED ? agrees(bytes, column[5]) : !strcmp(column[5], "missing"));
        if (!same) {
                for (int i = 0; i < COLUMN_CNT; i++)
                        printf("%s\t", column[i]);
                printf("%s", plan ? "ours: " : "refused: ");
                for (size_t i = 0; plan && outcome == KR_KEY_PROJECTED && i < bytes.len; i++)
                        printf("%02x", bytes.data[i]);
                puts(!plan ? err.text : outcome == KR_KEY_PROJECTED ? "" : "missing");
        }
        kr_avro_plan_free(plan);
        free(key);
        return same;
}

int main(void)
{
        struct kr_error err = { "" };
        const struct kr_schemas *schemas = kr_schemas_open(&err);
        char *line = NULL;
        size_t room = 0, cnt = 0, different = 0;
        ssize_t len;

        if (!schemas) {
                fprintf(stderr, "%s\n", err.text);
                return 2;
        }
        for (; (len = getline(&line, &room, stdin)) > 0; cnt++) {
                char *column[COLUMN_CNT], *rest = line;

                line[strcspn(line, "\n")] = '\0';
                for (int i = 0; i < COLUMN_CNT; i++) {
                        column[i] = strsep(&rest, "\t"); /* paths may be empty */
                        if (!column[i]) {
                                fprintf(stderr, "line %zu has fewer than %d columns\n", cnt + 1, COLUMN_CNT);
                                return 2;
                        }
                }
                different += !compare(schemas, column);
        }
        free(line);
        printf("%zu compared, %zu different\n", cnt, different);
        return different || !cnt;
}
