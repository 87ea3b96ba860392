#include "bind.h"

#include "object.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define KR_NAME(name) "rd_kafka_" #name,
static const char *const names[] = { KR_RDKAFKA_FUNCTIONS(KR_NAME) };
#undef KR_NAME

enum { NAME_CNT = sizeof(names) / sizeof(names[0]) };

/* The table is filled as an array, and POSIX lets a void pointer hold a function's address. */
_Static_assert(sizeof(struct kr_rdkafka) == NAME_CNT * sizeof(void *), "the table holds function pointers only");

/*
 * The dynamic symbols that the object itself defines. A hit elsewhere does not count: beside a copy that exports
 * nothing there may be another one that does, and calling that one with this one's objects would corrupt memory.
 */
static void find_dynamic(const struct kr_object *object, void **functions)
{
        void *handle = object->is_main ? NULL : dlopen(object->path, RTLD_NOW | RTLD_NOLOAD);

        for (size_t i = 0; i < NAME_CNT; i++) {
                functions[i] = dlsym(handle ? handle : RTLD_DEFAULT, names[i]);
                if (!kr_object_holds(object, functions[i]))
                        functions[i] = NULL;
        }
        /* The lookup takes no share in the object: it stays as long as its own caller keeps it. */
        if (handle)
                dlclose(handle);
}

static const char *first_missing(void *const *functions)
{
        for (size_t i = 0; i < NAME_CNT; i++)
                if (!functions[i])
                        return names[i];
        return NULL;
}

bool kr_bind(struct kr_rdkafka *lib, const void *caller, struct kr_error *err)
{
        void *functions[NAME_CNT] = { NULL };
        struct kr_object object;
        const char *missing;

        if (!kr_object_find(&object, caller)) {
                snprintf(err->text, sizeof(err->text), "cannot tell which object called the plugin");
                return false;
        }
        find_dynamic(&object, functions);
        if (first_missing(functions))
                kr_object_symbols(&object, names, NAME_CNT, functions);
        missing = first_missing(functions);
        if (missing) {
                snprintf(err->text, sizeof(err->text),
                         "cannot find %s in %.200s, which holds the librdkafka that loads the plugin: it is linked in "
                         "without its symbols; do not strip the program, or link it with -rdynamic, or use the shared "
                         "librdkafka",
                         missing, object.path);
                return false;
        }
        memcpy(lib, functions, sizeof(functions));
        return true;
}
