/** Loaded objects of this process, as the loader and their ELF files tell. Knows nothing of Kafka. */
#ifndef KR_OBJECT_H
#define KR_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/** A shared library or the executable. */
struct kr_object {
        ElfW(Addr) bias; /* what is added to an address in the file */
        const ElfW(Phdr) * phdr;
        size_t phdr_cnt;
        bool is_main;    /* the executable */
        char path[4096]; /* for dlopen(), and for people */
};

/** Finds the object that holds this address. */
bool kr_object_find(struct kr_object *object, const void *address);

/** True when the address lies in a loaded segment of the object. */
bool kr_object_holds(const struct kr_object *object, const void *address);

/**
 * Looks functions up in the .symtab of the object's file, which also has those that the object does not export.
 * What is not found, found twice at different places, or differs in the file from what runs (the file was replaced)
 * becomes NULL. Reads the file with every offset checked.
 */
void kr_object_symbols(const struct kr_object *object, const char *const *names, size_t cnt, void **functions);

#endif
