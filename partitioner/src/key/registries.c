#include "registries.h"

#include "schemas.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool copy(const char *text, char **out, const struct kr_json *at, struct kr_error *err)
{
        *out = strdup(text);
        return *out || kr_json_fail(at, err, "out of memory");
}

/* ---- secrets --------------------------------------------------------------------------------------------------- */

static bool check_secret_text(char *out, size_t len, const char *where, struct kr_error *err)
{
        char *end;

        out[len] = '\0';
        end = strpbrk(out, "\r\n");
        if (end)
                *end = '\0';
        for (const char *c = out; *c; c++)
                if ((unsigned char)*c < 0x20 || *c == 0x7f)
                        return snprintf(err->text, sizeof(err->text), "%.300s holds control characters", where), false;
        if (!*out)
                return snprintf(err->text, sizeof(err->text), "%.300s is empty", where), false;
        return true;
}

bool kr_secret_read(const struct kr_secret *secret, char *out, struct kr_error *err)
{
        const char *value = secret->text;
        char where[400];
        struct stat st;
        FILE *file;
        size_t len;

        if (secret->file) {
                snprintf(where, sizeof(where), "the file %s", secret->file);
                /* Looked at before it is opened: opening a FIFO would wait for a writer. */
                if (!stat(secret->file, &st) && !S_ISREG(st.st_mode))
                        return snprintf(err->text, sizeof(err->text), "%.300s is no regular file", where), false;
                file = fopen(secret->file, "rb");
                if (!file)
                        return snprintf(err->text, sizeof(err->text), "cannot read %.300s: %s", where, strerror(errno)), false;
                setvbuf(file, NULL, _IONBF, 0); /* no second copy of the secret in the heap */
                len = fread(out, 1, KR_SECRET_SIZE, file);
                fclose(file);
                if (len == KR_SECRET_SIZE && !memchr(out, '\n', len))
                        return snprintf(err->text, sizeof(err->text), "%.300s is too long", where), false;
                len -= len == KR_SECRET_SIZE;
                return check_secret_text(out, len, where, err);
        }
        snprintf(where, sizeof(where), "%s %s", secret->env ? "the environment's" : "the user",
                 secret->env ? secret->env : "");
        if (secret->env)
                value = getenv(secret->env);
        if (!value)
                return snprintf(err->text, sizeof(err->text), "%.300s is not set", where), false;
        len = strlen(value);
        if (len >= KR_SECRET_SIZE)
                return snprintf(err->text, sizeof(err->text), "%.300s is too long", where), false;
        memcpy(out, value, len);
        return check_secret_text(out, len, where, err);
}

/* Whether it can be read is asked now, where the user reads the answer; it is read again for each request. */
static bool parse_secret(struct kr_secret *secret, const struct kr_json *at, bool may_be_text, struct kr_error *err)
{
        static const char *const fields[] = { "env", "file", NULL };
        struct kr_json env_at, file_at;
        struct kr_error why;
        char read[KR_SECRET_SIZE];
        const char *text;
        bool ok;

        if (json_is_string(at->value)) {
                if (!may_be_text)
                        return kr_json_fail(at, err, "a secret never stands in a policy; expected {\"env\": NAME} or "
                                                     "{\"file\": PATH}");
                return kr_json_string(at, &text, err) && copy(text, &secret->text, at, err);
        }
        if (!at->value)
                return kr_json_fail(at, err, "is missing; expected {\"env\": NAME} or {\"file\": PATH}");
        if (!kr_json_object(at, fields, err))
                return false;
        env_at = kr_json_member(at, "env");
        file_at = kr_json_member(at, "file");
        if (!env_at.value == !file_at.value)
                return kr_json_fail(at, err, "expected one of \"env\" and \"file\"");
        if (file_at.value) {
                secret->file = kr_json_path(&file_at, err);
                if (!secret->file)
                        return false;
        } else if (!kr_json_string(&env_at, &text, err) || !copy(text, &secret->env, at, err)) {
                return false;
        }
        ok = kr_secret_read(secret, read, &why);
        explicit_bzero(read, sizeof(read));
        return ok || kr_json_fail(at, err, "%s", why.text);
}

static bool parse_auth(struct kr_registry_conf *conf, const struct kr_json *at, struct kr_error *err)
{
        static const char *const kinds[] = { "basic", "bearer", NULL };
        static const char *const basic_fields[] = { "user", "password", NULL };
        struct kr_json basic_at, bearer_at, user_at, password_at;

        if (!at->value)
                return true;
        if (!kr_json_object(at, kinds, err))
                return false;
        basic_at = kr_json_member(at, "basic");
        bearer_at = kr_json_member(at, "bearer");
        if (!basic_at.value == !bearer_at.value)
                return kr_json_fail(at, err, "expected one of \"basic\" and \"bearer\"");
        if (bearer_at.value) {
                conf->auth = KR_AUTH_BEARER;
                return parse_secret(&conf->secret, &bearer_at, false, err);
        }
        if (!kr_json_object(&basic_at, basic_fields, err))
                return false;
        conf->auth = KR_AUTH_BASIC;
        user_at = kr_json_member(&basic_at, "user");
        password_at = kr_json_member(&basic_at, "password");
        if (!parse_secret(&conf->user, &user_at, true, err) || !parse_secret(&conf->secret, &password_at, false, err))
                return false;
        return !conf->user.text || !strchr(conf->user.text, ':') ||
               kr_json_fail(&user_at, err, "a user's name has no \":\": what stands behind it would be taken for the password");
}

/* ---- registries ------------------------------------------------------------------------------------------------ */

static bool parse_url(char **out, const struct kr_json *at, struct kr_error *err)
{
        const char *text, *host;
        size_t len;

        if (!kr_json_string(at, &text, err))
                return false;
        len = strlen(text);
        if (!strncmp(text, "http://", 7))
                host = text + 7;
        else if (!strncmp(text, "https://", 8))
                host = text + 8;
        else
                return kr_json_fail(at, err, "expected a base URL such as \"https://registry.example:8081\"");
        if (memchr(host, '@', strcspn(host, "/")))
                return kr_json_fail(at, err, "a URL here carries no user and no password; \"auth\" does");
        if (!*host || *host == '/' || len > 1000 || strpbrk(host, "?#\\ \"<>"))
                return kr_json_fail(at, err, "expected a base URL: a host and perhaps a path, no query and no fragment");
        for (size_t i = 0; i < len; i++)
                if ((unsigned char)text[i] <= 0x20 || (unsigned char)text[i] >= 0x7f)
                        return kr_json_fail(at, err, "expected a base URL of visible ASCII characters");
        if (!copy(text, out, at, err))
                return false;
        while (len && (*out)[len - 1] == '/')
                (*out)[--len] = '\0';
        return true;
}

static bool parse_urls(struct kr_registry_conf *conf, const struct kr_json *at, struct kr_error *err)
{
        size_t cnt = json_array_size(at->value);

        if (!json_is_array(at->value) || !cnt || cnt > KR_REGISTRY_URL_MAX)
                return kr_json_fail(at, err, "expected a list of 1 to %d base URLs", KR_REGISTRY_URL_MAX);
        conf->urls = calloc(cnt, sizeof(*conf->urls));
        if (!conf->urls)
                return kr_json_fail(at, err, "out of memory");
        for (; conf->url_cnt < cnt; conf->url_cnt++) {
                struct kr_json element = kr_json_element(at, conf->url_cnt);

                if (!parse_url(&conf->urls[conf->url_cnt], &element, err))
                        return false;
        }
        return true;
}

static bool parse_number(const struct kr_json *at, const char *name, int64_t min, int64_t max, int64_t *out,
                         struct kr_error *err)
{
        struct kr_json member = kr_json_member(at, name);

        return !member.value || kr_json_integer(&member, min, max, out, err);
}

static bool parse_ca(struct kr_registry_conf *conf, const struct kr_json *at, struct kr_error *err)
{
        char line[256];
        bool found = false;
        struct stat st;
        FILE *file;

        if (!at->value)
                return true;
        conf->ca = kr_json_path(at, err);
        if (!conf->ca)
                return false;
        if (!stat(conf->ca, &st) && !S_ISREG(st.st_mode))
                return kr_json_fail(at, err, "%.200s is no regular file", conf->ca);
        file = fopen(conf->ca, "rb");
        if (!file)
                return kr_json_fail(at, err, "cannot read %.200s: %s", conf->ca, strerror(errno));
        while (!found && fgets(line, sizeof(line), file))
                found = !strncmp(line, "-----BEGIN ", 11) && strstr(line, "CERTIFICATE-----");
        fclose(file);
        return found || kr_json_fail(at, err, "%.200s holds no certificate in PEM", conf->ca);
}

static bool parse_registry(struct kr_registry_conf *conf, const struct kr_json *at, struct kr_error *err)
{
        static const char *const fields[] = { "urls", "auth", "ca", "timeout_ms", "wait_ms", "retries",
                                              "negative_ttl_ms", NULL };
        struct kr_json urls_at = kr_json_member(at, "urls");
        struct kr_json auth_at = kr_json_member(at, "auth");
        struct kr_json ca_at = kr_json_member(at, "ca");

        conf->timeout_ms = 3000;
        conf->wait_ms = 1000;
        conf->retries = 3;
        conf->negative_ttl_ms = 30000;
        if (!copy(at->key, &conf->name, at, err) || !kr_json_object(at, fields, err))
                return false;
        if (!*conf->name || strlen(conf->name) > 100)
                return kr_json_fail(at, err, "a registry's name has 1 to 100 bytes");
        if (!urls_at.value)
                return kr_json_fail(at, err, "\"urls\" is missing, such as [\"https://registry.example:8081\"]");
        return parse_urls(conf, &urls_at, err) && parse_auth(conf, &auth_at, err) && parse_ca(conf, &ca_at, err) &&
               parse_number(at, "timeout_ms", 1, 600000, &conf->timeout_ms, err) &&
               parse_number(at, "wait_ms", 0, 60000, &conf->wait_ms, err) &&
               parse_number(at, "retries", 0, 20, &conf->retries, err) &&
               parse_number(at, "negative_ttl_ms", 1, 86400000, &conf->negative_ttl_ms, err);
}

bool kr_registries_parse(struct kr_registries *registries, const struct kr_json *at, struct kr_error *err)
{
        static const char *const fields[] = { "cache", "registries", NULL };
        struct kr_schemas_conf *conf = &registries->conf;
        struct kr_json list_at;
        const char *name;
        json_t *value;

        conf->cache_cnt = 1000;
        if (!at->value)
                return true;
        list_at = kr_json_member(at, "registries");
        if (!kr_json_object(at, fields, err) || !parse_number(at, "cache", 1, 1000000, &conf->cache_cnt, err))
                return false;
        if (!json_is_object(list_at.value) || !json_object_size(list_at.value) ||
            json_object_size(list_at.value) > KR_REGISTRY_MAX)
                return kr_json_fail(list_at.value ? &list_at : at, err,
                                    "expected \"registries\": an object of 1 to %d, each with its \"urls\"",
                                    KR_REGISTRY_MAX);
        conf->registries = calloc(json_object_size(list_at.value), sizeof(*conf->registries));
        if (!conf->registries)
                return kr_json_fail(at, err, "out of memory");
        json_object_foreach(list_at.value, name, value)
        {
                struct kr_json registry_at = kr_json_member(&list_at, name);

                if (!parse_registry(&conf->registries[conf->registry_cnt++], &registry_at, err))
                        return false;
        }
        return true;
}

static void release_secret(struct kr_secret *secret)
{
        free(secret->text);
        free(secret->env);
        free(secret->file);
}

void kr_registries_release(struct kr_registries *registries)
{
        struct kr_schemas_conf *conf = &registries->conf;

        if (registries->client)
                registries->schemas->client_close(registries->client);
        for (size_t i = 0; i < conf->registry_cnt; i++) {
                struct kr_registry_conf *registry = &conf->registries[i];

                for (size_t u = 0; u < registry->url_cnt; u++)
                        free(registry->urls[u]);
                free(registry->urls);
                free(registry->name);
                free(registry->ca);
                release_secret(&registry->user);
                release_secret(&registry->secret);
        }
        free(conf->registries);
        *registries = (struct kr_registries){ 0 };
}
