#include "secret.h"

#include <string.h>

bool rp_secret_is(const char *name, size_t name_len, const char *value)
{
        static const char *const parts[] = { "password", "passwd", "secret", "token", "credential", "jaas", "oauthbearer",
                                             "kinit.cmd", ".pem", "user.info", "api.key" };
        static const char *const plain[] = { "sasl.oauthbearer.method", "ssl.ca.pem", "ssl.certificate.pem" };
        const char *scheme = value ? strstr(value, "://") : NULL;

        for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
                if (strlen(plain[i]) == name_len && !memcmp(name, plain[i], name_len))
                        return false;
        for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
                if (memmem(name, name_len, parts[i], strlen(parts[i])))
                        return true;
        /* "https://user:password@host" */
        return scheme && memchr(scheme + 3, '@', strcspn(scheme + 3, "/?#"));
}

void rp_secret_blot(char *text, const char *value)
{
        size_t len = strlen(value);
        char *at = text;

        if (len < 3)
                return;
        while ((at = strstr(at, value))) {
                memcpy(at, "...", 3);
                memmove(at + 3, at + len, strlen(at + len) + 1);
                at += 3;
        }
}
