/* What programs make of a key by mistake: bytes that are no text, and characters that an encoding treats apart. */
#include "decide/mistakes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define R "\xef\xbf\xbd" /* U+FFFD */

static const struct rp_form *find(const char *name)
{
        const struct rp_form *form;

        for (size_t i = 0; (form = rp_mistake_at(i)); i++)
                if (strstr(form->name, name))
                        return form;
        fail_msg("no form is named like \"%s\"", name);
        return NULL;
}

static void assert_made(const char *form, const char *key, size_t len, const char *made, size_t made_len)
{
        struct rp_form_bytes out;

        assert_true(find(form)->encode((const unsigned char *)key, len, &out));
        assert_int_equal(out.len, made_len);
        assert_memory_equal(out.data, made, made_len);
}

#define ASSERT_MADE(form, key, made) assert_made(form, key, sizeof(key) - 1, made, sizeof(made) - 1)

/* The Unicode Standard, "U+FFFD Substitution of Maximal Subparts", tables 3-8 to 3-11. */
static void test_bytes_that_are_no_utf8(void **state)
{
        (void)state;
        ASSERT_MADE("taken for text", "a\xf1\x80\x80\xe1\x80\xc2" "b\x80" "c\x80\xbf" "d", "a" R R R "b" R "c" R R "d");
        ASSERT_MADE("taken for text", "\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", R R R R R R R R "A");
        ASSERT_MADE("taken for text", "\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", R R R R R R R R "A");
        ASSERT_MADE("taken for text", "\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", R R R R R "A" R R "B");
        ASSERT_MADE("taken for text", "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", R R R R "A");
        ASSERT_MADE("taken for text", "\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\xc3\xa9",
                    "\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\xc3\xa9");
        ASSERT_MADE("taken for text", "a\0b", "a\0b");
        ASSERT_MADE("taken for text", "", "");
}

static void test_json(void **state)
{
        (void)state;
        ASSERT_MADE("JSON text, in quotes", "", "\"\"");
        ASSERT_MADE("JSON text, in quotes", "a\"\\/\b\f\n\r\t\x01\x1f\x7f\0",
                    "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\\u0000\"");
        ASSERT_MADE("JSON text, in quotes", "\xc3\xa9\xff", "\"\xc3\xa9" R "\"");
        ASSERT_MADE("escapes for all but ASCII", "a\"\n\xc3\xa9\xf0\x9f\x98\x80\x7f\xff",
                    "\"a\\\"\\n\\u00e9\\ud83d\\ude00\\u007f\\ufffd\"");
}

static void test_utf16(void **state)
{
        (void)state;
        ASSERT_MADE("in UTF-16LE", "a\xc3\xa9\xf0\x9f\x98\x80\xff", "a\0\xe9\0\x3d\xd8\x00\xde\xfd\xff");
        ASSERT_MADE("in UTF-16BE", "a\xc3\xa9\xf0\x9f\x98\x80\xff", "\0a\0\xe9\xd8\x3d\xde\x00\xff\xfd");
        ASSERT_MADE("UTF-16LE behind a byte order mark", "a", "\xff\xfe" "a\0");
        ASSERT_MADE("UTF-16BE behind a byte order mark", "a", "\xfe\xff\0a");
}

static void test_the_others(void **state)
{
        (void)state;
        ASSERT_MADE("hexadecimal", "\0\xaf", "00af");
        ASSERT_MADE("base64", "\0\xaf", "AK8=");
        ASSERT_MADE("line end", "a", "a\n");
        ASSERT_MADE("NUL byte", "a\0b", "a");
        ASSERT_MADE("lower case", "aB\xc3\x84", "ab\xc3\x84");
        ASSERT_MADE("white space", " \ta b\r\n", "a b");
        ASSERT_MADE("Latin-1", "a\xe9\xff", "a\xc3\xa9\xc3\xbf");
}

static void test_keys_without_room(void **state)
{
        static unsigned char key[RP_FORM_KEY_MAX + 1];
        const struct rp_form *form;

        (void)state;
        memset(key, 0x80, sizeof(key));
        for (size_t i = 0; (form = rp_mistake_at(i)); i++) {
                struct rp_form_bytes out;

                for (size_t len = 0; len <= sizeof(key); len++)
                        if (form->encode(key, len, &out))
                                assert_true(out.len <= sizeof(out.data));
                assert_false(form->encode(key, sizeof(key), &out));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bytes_that_are_no_utf8), cmocka_unit_test(test_json),
                cmocka_unit_test(test_utf16), cmocka_unit_test(test_the_others),
                cmocka_unit_test(test_keys_without_room),
        };

        return cmocka_run_group_tests_name("mistakes", tests, NULL, NULL);
}
