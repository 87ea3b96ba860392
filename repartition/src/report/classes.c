#include "report/classes.h"

#include "report/text.h"

static const char *const meanings[RP_CLASS_CNT] = {
        [RP_CLASS_SAFE] = "nothing as new in the right partition",
        [RP_CLASS_STALE] = "the right partition has a record as new or newer",
        [RP_CLASS_SPLIT] = "the key lies in several wrong partitions",
        [RP_CLASS_UNKNOWN] = "no time to judge by",
        [RP_CLASS_COPIED] = "its copy is in the right partition",
};

uint64_t rp_classes_sum(const struct rp_repair_counts *counts)
{
        uint64_t sum = 0;

        for (int class = 0; class < RP_CLASS_CNT; class++)
                sum += counts->records[class];
        return sum;
}

void rp_classes_text(const struct rp_repair_counts *counts, size_t indent, FILE *out)
{
        struct rp_table *table = rp_table_new("lrrrl");
        uint64_t sum = rp_classes_sum(counts);

        for (int class = 0; class < RP_CLASS_CNT; class++) {
                if (!counts->records[class])
                        continue;
                rp_table_cell(table, "%s", rp_class_name(class));
                rp_table_cell(table, "%s", rp_text_count(counts->records[class]).s);
                rp_table_cell(table, "%s", rp_text_percent(counts->records[class], sum).s);
                rp_table_cell(table, "%s key%s", rp_text_count(counts->keys[class]).s, counts->keys[class] == 1 ? "" : "s");
                rp_table_cell(table, "%s", meanings[class]);
        }
        rp_table_print(table, out, indent, 2);
        rp_table_free(table);
}

json_t *rp_classes_json(const struct rp_repair_counts *counts)
{
        json_t *object = json_object();

        for (int class = 0; class < RP_CLASS_CNT; class++)
                json_object_set_new(object, rp_class_name(class),
                                    json_pack("{s:I, s:I, s:I}", "records", (json_int_t)counts->records[class], "bytes",
                                              (json_int_t)counts->bytes[class], "keys", (json_int_t)counts->keys[class]));
        return object;
}
