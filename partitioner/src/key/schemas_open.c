/* Finds and opens keyroute-schemas.so, once a process. */
#include "schemas.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OBJECT "keyroute-schemas.so"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct kr_schemas *opened; /* under the lock; never closed, since policies keep its functions */

static const struct kr_schemas *try_open(const char *path, char *why, size_t size)
{
        void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const struct kr_schemas *schemas = object ? dlsym(object, KR_SCHEMAS_SYMBOL) : NULL;

        if (schemas && schemas->abi == KR_SCHEMAS_ABI)
                return schemas;
        if (!object)
                snprintf(why, size, "%s", dlerror());
        else
                snprintf(why, size, "%s is of another version of Keyroute", path);
        if (object)
                dlclose(object);
        return NULL;
}

/*
 * The file that this code was loaded from, or "". Of the program itself dladdr knows no more than argv[0]: through PATH
 * that is a bare name, which would be looked for in the current folder, where anybody may have put something.
 */
static void find_self(char *path, size_t size)
{
        struct link_map *object = NULL;
        Dl_info self;
        ssize_t len;

        *path = '\0';
        if (!dladdr1((void *)&opened, &self, (void **)&object, RTLD_DL_LINKMAP))
                return;
        if (object && object->l_name && *object->l_name) {
                snprintf(path, size, "%s", object->l_name);
                return;
        }
        len = readlink("/proc/self/exe", path, size - 1);
        path[len > 0 ? len : 0] = '\0';
}

static const struct kr_schemas *search(struct kr_error *err)
{
        /* Installed beside the plugin; for the tool in ../lib of it; in a build tree one above the tests. */
        static const char *const beside[] = { "/" OBJECT, "/../lib/" OBJECT, "/../" OBJECT };
        const char *named = getenv("KEYROUTE_SCHEMAS");
        const struct kr_schemas *schemas = NULL;
        char self[4096], path[sizeof(self) + 64], why[256] = "not found";
        const char *slash;

        if (named && *named) {
                schemas = try_open(named, why, sizeof(why));
                if (!schemas)
                        snprintf(err->text, sizeof(err->text), "cannot open KEYROUTE_SCHEMAS=%.200s: %.200s", named, why);
                return schemas;
        }
        find_self(self, sizeof(self));
        slash = strrchr(self, '/');
        for (size_t i = 0; slash && i < sizeof(beside) / sizeof(beside[0]) && !schemas; i++) {
                snprintf(path, sizeof(path), "%.*s%s", (int)(slash - self), self, beside[i]);
                schemas = try_open(path, why, sizeof(why));
        }
        if (!schemas)
                schemas = try_open(OBJECT, why, sizeof(why));
        if (!schemas)
                snprintf(err->text, sizeof(err->text),
                         "Avro keys need " OBJECT ", which is not beside %.150s nor known to the loader (%.150s); install it "
                         "there, or name it in the environment's KEYROUTE_SCHEMAS",
                         *self ? self : "this program", why);
        return schemas;
}

const struct kr_schemas *kr_schemas_open(struct kr_error *err)
{
        const struct kr_schemas *schemas;

        pthread_mutex_lock(&lock);
        if (!opened)
                opened = search(err);
        schemas = opened;
        pthread_mutex_unlock(&lock);
        return schemas;
}
