#include "base64.h"
#include "cli/key_format.h"
#include "report/key_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

struct good {
        const char *format;
        const char *text;
        size_t text_len;
        const char *bytes;
        size_t len;
};

#define GOOD(format, text, bytes) { format, text, sizeof(text) - 1, bytes, sizeof(bytes) - 1 }

static const struct good goods[] = {
        GOOD("text", "TT0124", "TT0124"),
        GOOD("text", "", ""),
        GOOD("text", " padded \r", " padded \r"),
        GOOD("text", "nul\0inside", "nul\0inside"),
        GOOD("hex", "", ""),
        GOOD("hex", "00ffAb", "\x00\xff\xab"),
        GOOD("hex", " 7f\r", "\x7f"),
        GOOD("base64", "", ""),
        GOOD("base64", "VFQwMTI0", "TT0124"),
        GOOD("base64", "/+8=", "\xff\xef"),
        GOOD("base64", "AA==\r", "\x00"),
        GOOD("int32", "0", "\x00\x00\x00\x00"),
        GOOD("int32", "42", "\x00\x00\x00\x2a"),
        GOOD("int32", "+42 ", "\x00\x00\x00\x2a"),
        GOOD("int32", "-1", "\xff\xff\xff\xff"),
        GOOD("int32", "2147483647", "\x7f\xff\xff\xff"),
        GOOD("int32", "-2147483648", "\x80\x00\x00\x00"),
        GOOD("int32", "-0", "\x00\x00\x00\x00"),
        GOOD("int64", "42", "\x00\x00\x00\x00\x00\x00\x00\x2a"),
        GOOD("int64", "9223372036854775807", "\x7f\xff\xff\xff\xff\xff\xff\xff"),
        GOOD("int64", "-9223372036854775808", "\x80\x00\x00\x00\x00\x00\x00\x00"),
        GOOD("int64", "-2", "\xff\xff\xff\xff\xff\xff\xff\xfe"),
        GOOD("uuid", "354afe16-939A-4ea8-8e17-8bb0840b6886",
             "\x35\x4a\xfe\x16\x93\x9a\x4e\xa8\x8e\x17\x8b\xb0\x84\x0b\x68\x86"),
};

struct bad {
        const char *format;
        const char *text;
        const char *message;
};

static const struct bad bads[] = {
        { "hex", "abc", "expected an even number of hex digits, found \"abc\"" },
        { "hex", "zz", "expected an even number of hex digits, found \"zz\"" },
        { "hex", "0x41", "found \"0x41\"" },
        { "hex", "00 ff", "found \"00 ff\"" },
        { "base64", "VFQwMTI", "expected base64" },
        { "base64", "VFQ-", "expected base64" },
        { "base64", "VF=w", "expected base64" },
        { "base64", "====", "expected base64" },
        { "base64", "A===", "expected base64" },
        { "base64", "AB==", "expected base64" }, /* the unused bits are not zero: two texts for one key */
        { "base64", "AAB=", "expected base64" },
        { "int32", "", "expected a whole number from -2147483648 to 2147483647, found \"\"" },
        { "int32", "-", "expected a whole number" },
        { "int32", "2147483648", "found \"2147483648\"" },
        { "int32", "-2147483649", "found \"-2147483649\"" },
        { "int32", "1.5", "found \"1.5\"" },
        { "int32", "1e3", "found \"1e3\"" },
        { "int32", "12 13", "found \"12 13\"" },
        { "int32", "--1", "found \"--1\"" },
        { "int64", "9223372036854775808", "expected a whole number from -9223372036854775808" },
        { "int64", "-9223372036854775809", "expected a whole number" },
        { "int64", "18446744073709551616", "expected a whole number" },
        { "int64", "99999999999999999999999999999999", "expected a whole number" },
        { "uuid", "", "expected a UUID such as" },
        { "uuid", "354afe16939a4ea88e178bb0840b6886", "expected a UUID such as" },
        { "uuid", "354afe16-939a-4ea8-8e17-8bb0840b688g", "expected a UUID such as" },
        { "uuid", "354afe169-39a-4ea8-8e17-8bb0840b6886", "expected a UUID such as" },
        { "hex", "a\tb\x01", "found \"a?b?\"" }, /* one line, whatever was in it */
};

static void test_parses(void **state)
{
        struct rp_key key = { 0 };
        struct rp_error err;

        (void)state;
        for (size_t i = 0; i < sizeof(goods) / sizeof(goods[0]); i++) {
                const struct good *good = &goods[i];

                if (rp_key_parse(rp_key_format_find(good->format), good->text, good->text_len, &key, &err) != RP_OK)
                        fail_msg("%s \"%s\": %s", good->format, good->text, err.text);
                assert_int_equal(key.len, good->len);
                assert_non_null(key.data);
                assert_memory_equal(key.data, good->bytes, good->len);
        }
        rp_key_release(&key);
}

static void test_refuses(void **state)
{
        struct rp_key key = { 0 };
        struct rp_error err;

        (void)state;
        for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
                const struct bad *bad = &bads[i];

                if (rp_key_parse(rp_key_format_find(bad->format), bad->text, strlen(bad->text), &key, &err) !=
                    RP_ERR_USAGE)
                        fail_msg("%s \"%s\" was taken", bad->format, bad->text);
                if (!strstr(err.text, bad->message))
                        fail_msg("%s \"%s\": \"%s\" does not say \"%s\"", bad->format, bad->text, err.text,
                                 bad->message);
                assert_null(strpbrk(err.text, "\r\n\t"));
        }
        rp_key_release(&key);
}

static void test_long_keys(void **state)
{
        enum { LEN = 1 << 20 };
        char *text = malloc(LEN + 1);
        struct rp_key key = { 0 };
        struct rp_error err;

        (void)state;
        memset(text, 'a', LEN);
        assert_int_equal(rp_key_parse(rp_key_format_find("hex"), text, LEN, &key, &err), RP_OK);
        assert_int_equal(key.len, LEN / 2);
        text[LEN] = 'a'; /* an odd count, and a message that does not carry a megabyte */
        assert_int_equal(rp_key_parse(rp_key_format_find("hex"), text, LEN + 1, &key, &err), RP_ERR_USAGE);
        assert_true(strlen(err.text) < 200);
        rp_key_release(&key);
        free(text);
}

static void test_names(void **state)
{
        (void)state;
        for (size_t i = 0; rp_key_format_names[i]; i++) {
                assert_non_null(rp_key_format_find(rp_key_format_names[i]));
                assert_true(*rp_key_format_help(rp_key_format_find(rp_key_format_names[i])));
        }
        assert_null(rp_key_format_find("TEXT"));
        assert_null(rp_key_format_find(""));
}

/* RFC 4648 section 10, and back again for every length and byte value. */
static void test_base64(void **state)
{
        static const char *const pairs[][2] = { { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
                                                { "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" },
                                                { "foobar", "Zm9vYmFy" } };
        unsigned char bytes[256], back[256];
        char text[400];
        size_t len;

        (void)state;
        for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
                rp_base64_encode(pairs[i][0], strlen(pairs[i][0]), text);
                assert_string_equal(text, pairs[i][1]);
        }
        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (unsigned char)(255 - i);
        for (size_t n = 0; n <= sizeof(bytes); n++) {
                rp_base64_encode(bytes, n, text);
                assert_int_equal(strlen(text), rp_base64_encoded_size(n));
                assert_true(rp_base64_decode(text, strlen(text), back, &len));
                assert_int_equal(len, n);
                assert_memory_equal(back, bytes, n);
        }
}

static void test_printable(void **state)
{
        static const struct {
                const char *bytes;
                bool want;
        } cases[] = {
                { "", true },
                { "order-42 \xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x9a", true },
                { "tab\t", false },
                { "\x7f", false },
                { "\xc2\x80", false },         /* C1 control */
                { "\xc2\xa0", true },
                { "\xff", false },
                { "\xc3", false },             /* cut short */
                { "\xc0\xaf", false },         /* overlong */
                { "\xe0\x80\xaf", false },     /* overlong */
                { "\xf0\x80\x80\xaf", false }, /* overlong */
                { "\xed\xa0\x80", false },     /* a surrogate */
                { "\xf4\x90\x80\x80", false }, /* past U+10FFFF */
                { "\xe2\x28\xa1", false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                if (rp_is_printable(cases[i].bytes, strlen(cases[i].bytes)) != cases[i].want)
                        fail_msg("case %zu", i);
        assert_false(rp_is_printable("a\0b", 3));
}

static void test_json_key(void **state)
{
        static const struct {
                const char *key;
                size_t len;
                const char *want;
        } cases[] = {
                { "TT0124", 6, "\"key\": \"VFQwMTI0\", \"key_text\": \"TT0124\"" },
                { "", 0, "\"key\": \"\", \"key_text\": \"\"" },
                { "a\"\\", 3, "\"key\": \"YSJc\", \"key_text\": \"a\\\"\\\\\"" },
                { "\xff\x00", 2, "\"key\": \"/wA=\"" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                char *text = NULL;
                size_t size = 0;
                FILE *out = open_memstream(&text, &size);

                rp_print_json_key(out, cases[i].key, cases[i].len);
                fclose(out);
                assert_string_equal(text, cases[i].want);
                free(text);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parses),    cmocka_unit_test(test_refuses),   cmocka_unit_test(test_long_keys),
                cmocka_unit_test(test_names),     cmocka_unit_test(test_base64),    cmocka_unit_test(test_printable),
                cmocka_unit_test(test_json_key),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
