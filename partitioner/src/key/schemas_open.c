/* Finds and opens keyroute-schemas.so, once a process. */
#include "schemas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const struct kr_schemas *search(struct kr_error *err)
{
        /* Installed beside the plugin; for the tool in ../lib of it; in a build tree one above the tests. */
        static const char *const beside[] = { "/" OBJECT, "/../lib/" OBJECT, "/../" OBJECT };
        const char *named = getenv("KEYROUTE_SCHEMAS");
        const struct kr_schemas *schemas = NULL;
        char path[4096], why[256] = "not found";
        Dl_info self;

        if (named && *named) {
                schemas = try_open(named, why, sizeof(why));
                if (!schemas)
                        snprintf(err->text, sizeof(err->text), "cannot open KEYROUTE_SCHEMAS=%.200s: %.200s", named, why);
                return schemas;
        }
        if (dladdr((void *)&opened, &self) && self.dli_fname) {
                const char *slash = strrchr(self.dli_fname, '/');
                int len = slash ? (int)(slash - self.dli_fname) : 0;

                for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]) && !schemas; i++) {
                        snprintf(path, sizeof(path), "%.*s%s", slash ? len : 1, slash ? self.dli_fname : ".", beside[i]);
                        schemas = try_open(path, why, sizeof(why));
                }
        }
        if (!schemas)
                schemas = try_open(OBJECT, why, sizeof(why));
        if (!schemas)
                snprintf(err->text, sizeof(err->text),
                         "Avro keys need " OBJECT ", which is not beside %.150s nor known to the loader (%.150s); install it "
                         "there, or name it in the environment's KEYROUTE_SCHEMAS",
                         self.dli_fname ? self.dli_fname : "this program", why);
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
