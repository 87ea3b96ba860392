/**
 * What one pass of a repair is, as one line of text that is stored with its progress (decide/note.h, `job`): by it a run
 * that was killed is taken up with the same judgement, and anything else is told from it. Pure.
 */
#ifndef RP_REPAIR_PASS_H
#define RP_REPAIR_PASS_H

#include "decide/note.h"
#include "decide/repair.h"

struct rp_repair_pass {
        char topic[256];
        int32_t partition_cnt;
        char fingerprint[32];  /* of the rule */
        unsigned include;      /* as in struct rp_repair_config */
        bool tombstones;
        bool mark;             /* copies name their origin */
        uint64_t low, high;    /* hashes of the keys that it is about */
        uint64_t number;       /* rises by one from pass to pass */
};

void rp_repair_pass_print(char out[RP_NOTE_JOB_SIZE], const struct rp_repair_pass *pass);

/** @returns false when the text is of another kind of job. */
bool rp_repair_pass_parse(struct rp_repair_pass *pass, const char *text);

/** Whether both do the same thing to the same topic by the same rule; keys and number may differ. */
bool rp_repair_pass_is_alike(const struct rp_repair_pass *a, const struct rp_repair_pass *b);

/** Prints classes as --include takes them: "safe,split". @returns out. */
enum { RP_CLASSES_SIZE = 64 };
const char *rp_classes_print(char out[RP_CLASSES_SIZE], unsigned classes);

/** Reads what rp_classes_print() prints. false for another word; *word then points to it, and *len is its length. */
bool rp_classes_parse(const char *text, unsigned *classes, const char **word, size_t *len);

#endif
