/* Schemas from a registry that answers, and from one that does everything else. */
#include "registries.h"

#include "policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct http_reply SLOW = { .status = 200, .body = "{}", .delay_ms = 600000 };

static void test_by_id(void **state)
{
        kr_policy_t *policy = registry_policy("", "", "");

        (void)state;
        registry_has("/schemas/ids/7", SCHEMA_A, "");
        assert_routes_as_text(policy, 7, "alice");
        assert_int_equal(registry_counts(policy).waits, 1);
        for (int i = 0; i < 1000; i++)
                assert_routes_as_text(policy, 7, "bob");
        assert_int_equal(registry_requests(), 1);
        kr_policy_free(policy);
}

static void test_ids_of_one_schema_share_its_plan(void **state)
{
        kr_policy_t *policy = registry_policy("", "", "");

        (void)state;
        registry_has("/schemas/ids/1", SCHEMA_A, "");
        registry_has("/schemas/ids/100042", "  " SCHEMA_A, "\"schemaType\":\"AVRO\"");
        assert_routes_as_text(policy, 1, "alice");
        assert_routes_as_text(policy, 100042, "alice");
        assert_int_equal(registry_counts(policy).plans, 2);
        assert_non_null(policy->registries.client);
        kr_policy_free(policy);
}

static void test_eight_byte_ids_and_guids(void **state)
{
        static const unsigned char eight[] = "\0" "\0\0\0\0\0\0\0\x07" "\x02\x0a" "alice\x06";
        static const unsigned char guid[] = "\x01" "\x89\x79\x10\x37\x5d\x2f\x4c\x1e\x9a\xbb\x01\x23\x45\x67\x89\xab"
                                            "\x02\x0a" "alice\x06";
        kr_policy_t *policy = registry_policy("", ",'id-bytes':8", "");
        struct kr_routing a, b;

        (void)state;
        registry_has("/schemas/ids/7", SCHEMA_A, "");
        registry_has("/schemas/guids/89791037-5d2f-4c1e-9abb-0123456789ab", SCHEMA_A, "");
        kr_rule_route(rule_of(policy), eight, sizeof(eight) - 1, 1000, &a);
        kr_rule_route(rule_of(policy), guid, sizeof(guid) - 1, 1000, &b);
        assert_int_equal(a.outcome, KR_KEY_PROJECTED);
        assert_int_equal(b.outcome, KR_KEY_PROJECTED);
        assert_int_equal(a.partition, b.partition);
        kr_policy_free(policy);
}

static void test_references(void **state)
{
        static const char outer[] = "{\"type\":\"record\",\"name\":\"O\",\"fields\":[{\"name\":\"a\",\"type\":\"long\"},"
                                    "{\"name\":\"id\",\"type\":\"Name\"},{\"name\":\"n\",\"type\":\"x.Deep\"}]}";
        kr_policy_t *policy = registry_policy(",'retries':0,'negative_ttl_ms':20", "", "");

        (void)state;
        registry_has("/schemas/ids/7", outer,
                     "\"references\":[{\"name\":\"Name\",\"subject\":\"a name/é\",\"version\":2}]");
        registry_has("/subjects/a%20name%2F%C3%A9/versions/2", "{\"type\":\"enum\",\"name\":\"Name\",\"symbols\":[\"A\",\"alice\"]}",
                     "\"references\":[{\"name\":\"x.Deep\",\"subject\":\"deep\",\"version\":1}]");
        /* What it refers to is not there yet: that may be mended, and is asked for again. */
        assert_int_equal(route_framed(policy, 7, "alice", NULL), KR_KEY_UNRESOLVED);
        registry_has("/subjects/deep/versions/1", "{\"type\":\"enum\",\"name\":\"Deep\",\"namespace\":\"x\",\"symbols\":[\"B\"]}",
                     /* in a circle, which ends */
                     "\"references\":[{\"name\":\"Name\",\"subject\":\"a name/é\",\"version\":2}]");
        route_until(policy, 7, "", KR_KEY_PROJECTED);
        kr_policy_free(policy);
}

static void test_bare_keys(void **state)
{
        static const unsigned char bare[] = "\x02\x0a" "alice\x06", framed[] = "\0\0\0\0\x07\x0a" "alice\x02\x06";
        kr_policy_t *plain = policy_of("'hash':'murmur2'");
        int32_t alice = kr_rule_partition(rule_of(plain), "alice", 5, 1000);
        kr_policy_t *policy = registry_policy("", "", "");
        struct kr_routing routing;

        (void)state;
        registry_has("/subjects/s/versions/latest", SCHEMA_A, "\"id\":9");
        registry_has("/subjects/s/versions/3", SCHEMA_A, "\"id\":9");
        registry_has("/schemas/ids/7?subject=s", SCHEMA_B, "");
        kr_rule_route(rule_of(policy), bare, sizeof(bare) - 1, 1000, &routing);
        assert_int_equal(routing.outcome, KR_KEY_MISSING);
        assert_int_equal(registry_requests(), 0);
        kr_policy_free(policy);

        policy = registry_policy("", ",'subject':'s'", "");
        kr_rule_route(rule_of(policy), bare, sizeof(bare) - 1, 1000, &routing);
        assert_int_equal(routing.outcome, KR_KEY_PROJECTED);
        assert_int_equal(routing.partition, alice);
        kr_rule_route(rule_of(policy), framed, sizeof(framed) - 1, 1000, &routing);
        assert_int_equal(routing.outcome, KR_KEY_PROJECTED);
        assert_int_equal(routing.partition, alice);
        /* "latest" is what it was when it was first asked for. */
        registry_has("/subjects/s/versions/latest", SCHEMA_B, "\"id\":10");
        kr_rule_route(rule_of(policy), bare, sizeof(bare) - 1, 1000, &routing);
        assert_int_equal(routing.partition, alice);
        kr_policy_free(policy);

        /* Without frames nothing is sniffed: \0 begins a record here. */
        policy = registry_policy("", ",'subject':'s','version':3,'frame':'none'", "");
        kr_rule_route(rule_of(policy), "\0\x0a" "alice\x06", 8, 1000, &routing);
        assert_int_equal(routing.outcome, KR_KEY_PROJECTED);
        assert_int_equal(routing.partition, alice);
        kr_policy_free(policy);
        kr_policy_free(plain);
}

static void test_fields_that_are_not_there(void **state)
{
        kr_policy_t *policy = registry_policy("", "", "");

        (void)state;
        kr_policy_start(policy, log_line, NULL);
        registry_has("/schemas/ids/7", "\"string\"", "");
        assert_int_equal(route_framed(policy, 7, "alice", NULL), KR_KEY_MISSING);
        log_await("keys of schema 7 cannot be taken apart");
        assert_int_equal(route_framed(policy, 7, "alice", NULL), KR_KEY_MISSING);
        assert_int_equal(log_count("schema 7"), 1);
        kr_policy_free(policy);
}

static void test_read_ahead(void **state)
{
        kr_policy_t *policy = registry_policy(",'wait_ms':0", "", "");

        (void)state;
        registry_says("/subjects/t-key/versions", (struct http_reply){ .status = 200, .body = "[1,2]" });
        registry_has("/subjects/t-key/versions/1", SCHEMA_A, "\"id\":7,\"subject\":\"t-key\",\"version\":1");
        registry_has("/subjects/t-key/versions/2", SCHEMA_B, "\"id\":8");
        kr_policy_start(policy, log_line, NULL);
        while (registry_counts(policy).resolved < 2)
                usleep(1000);
        assert_routes_as_text(policy, 7, "alice");
        assert_int_equal(registry_counts(policy).waits, 0);
        assert_int_equal(registry_requests(), 3);
        assert_true(log_empty());
        kr_policy_free(policy);
}

static void test_nothing_to_read_ahead_is_no_trouble(void **state)
{
        kr_policy_t *policy = registry_policy("", "", "");

        (void)state;
        kr_policy_start(policy, log_line, NULL);
        while (!registry_requests())
                usleep(1000);
        registry_has("/schemas/ids/7", SCHEMA_A, "");
        assert_routes_as_text(policy, 7, "alice");
        assert_true(log_empty());
        kr_policy_free(policy);
}

/* ---- trouble --------------------------------------------------------------------------------------------------- */

static void test_each_trouble_is_said_and_gets_over(void **state)
{
        static char large[(4 << 20) + 1000];
        char location[100];
        const struct {
                const char *name;
                struct http_reply reply;
                const char *said;
        } troubles[] = {
                { "401", { .status = 401, .body = "{}" }, "refuses our credentials (401 to /schemas/ids/7); check \"auth\"" },
                { "403", { .status = 403 , .body = "{}" }, "refuses our credentials (403" },
                { "404", { 0 }, "has no /schemas/ids/7 (404)" },
                { "429", { .status = 429, .headers = "Retry-After: 1\r\n" }, "asks for a pause (429 to /schemas/ids/7)" },
                { "500", { .status = 500, .body = "{}" }, "answers 500 to /schemas/ids/7" },
                { "503", { .status = 503 }, "asks for a pause (503" },
                { "no JSON", { .status = 200, .body = "<html>login</html>" }, "answers /schemas/ids/7 with what is no JSON" },
                { "no schema", { .status = 200, .body = "{\"id\":7}" }, "the answer to /schemas/ids/7 holds no \"schema\"" },
                { "a list", { .status = 200, .body = "[]" }, "holds no \"schema\"" },
                { "wrong schema", { .status = 200, .body = "{\"schema\":\"{\"}" }, "the schema of /schemas/ids/7 is no JSON" },
                { "Protobuf", { .status = 200, .body = "{\"schemaType\":\"PROTOBUF\",\"schema\":\"x\"}" }, "is PROTOBUF, not Avro" },
                { "redirect loop", { .status = 302, .headers = location }, "it redirects more than 3 times" },
                { "redirect to a file", { .status = 302, .headers = "Location: file:///etc/passwd\r\n" }, "/schemas/ids/7: " },
                { "oversized", { .status = 200, .body = large, .body_len = sizeof(large) }, "the answer is larger than 4 MiB" },
                { "truncated", { .status = 200, .body = "{\"schema\":\"\\\"string\\\"\"}", .cut = 5 }, "the answer ends in the middle" },
                { "silent", { .status = 200, .delay_ms = 600000 }, "no answer within 100 ms" },
                { "bad references", { .status = 200, .body = "{\"schema\":\"{}\",\"references\":[{\"name\":\"x\"}]}" },
                  "a reference names no subject and version" },
        };

        (void)state;
        memset(large, ' ', sizeof(large));
        snprintf(location, sizeof(location), "Location: http://127.0.0.1:%d/schemas/ids/7\r\n", registry_port());
        for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
                kr_policy_t *policy = registry_policy(strcmp(troubles[i].name, "silent")
                                                              ? ",'retries':1,'negative_ttl_ms':20"
                                                              : ",'timeout_ms':100,'retries':1,'negative_ttl_ms':20", "", "");

                print_message("%s\n", troubles[i].name);
                kr_policy_start(policy, log_line, NULL);
                registry_has("/schemas/ids/6", SCHEMA_A, "");
                route_until(policy, 6, "alice", KR_KEY_PROJECTED);
                registry_says("/schemas/ids/7", troubles[i].reply);
                assert_int_equal(route_framed(policy, 7, "alice", NULL), KR_KEY_UNRESOLVED);
                log_await(troubles[i].said);
                /* Others are not concerned. */
                assert_routes_as_text(policy, 6, "alice");
                registry_has("/schemas/ids/7", SCHEMA_A, "");
                route_until(policy, 7, "alice", KR_KEY_PROJECTED);
                assert_int_equal(registry_counts(policy).lies, 0);
                kr_policy_free(policy);
        }
}

static void test_a_bad_id_costs_nothing_until_its_time(void **state)
{
        kr_policy_t *policy = registry_policy(",'negative_ttl_ms':86400000", "", "");

        (void)state;
        for (int i = 0; i < 10000; i++)
                assert_int_equal(route_framed(policy, 7, "alice", NULL), KR_KEY_UNRESOLVED);
        assert_int_equal(registry_requests(), 1);
        assert_int_equal(registry_counts(policy).waits, 1);
        kr_policy_free(policy);
}

static void test_down_and_back(void **state)
{
        kr_policy_t *policy = registry_policy(",'retries':2,'negative_ttl_ms':20", "", "");

        (void)state;
        registry_has("/schemas/ids/7", SCHEMA_A, "");
        registry_has("/schemas/ids/8", SCHEMA_B, "");
        registry_stop();
        kr_policy_start(policy, log_line, NULL);
        log_await("registry main: http://127.0.0.1:");
        assert_int_equal(log_count("onnect"), 1);
        for (int id = 7; id < 50; id++)
                assert_int_equal(route_framed(policy, id, "alice", NULL), KR_KEY_UNRESOLVED);
        /* It is known to be down, so not one of these waited. */
        assert_int_equal(registry_counts(policy).waits, 0);
        registry_start();
        route_until(policy, 7, "alice", KR_KEY_PROJECTED);
        log_await("registry main answers again");
        assert_int_equal(log_count("onnect"), 1);
        kr_policy_free(policy);
}

static void test_slow_costs_one_bounded_wait(void **state)
{
        kr_policy_t *policy = registry_policy(",'wait_ms':50,'timeout_ms':600000", "", "");
        struct kr_schema_counts before, after;

        (void)state;
        registry_has("/schemas/ids/6", SCHEMA_A, "");
        route_until(policy, 6, "alice", KR_KEY_PROJECTED);
        before = registry_counts(policy);
        registry_says("/schemas/ids/7", SLOW);
        registry_says("/schemas/ids/8", SLOW);
        for (int i = 0; i < 1000; i++) {
                assert_int_equal(route_framed(policy, 7, "alice", NULL), KR_KEY_UNRESOLVED);
                assert_int_equal(route_framed(policy, 8, "alice", NULL), KR_KEY_UNRESOLVED);
                assert_routes_as_text(policy, 6, "alice");
        }
        after = registry_counts(policy);
        assert_int_equal(after.waits, before.waits + 1); /* for 7; by the time of 8 it is known to be slow */
        assert_int_equal(after.timeouts, before.timeouts + 1);
        kr_policy_free(policy); /* and does not wait for the answers */
}

static void test_failover(void **state)
{
        struct kr_error err;
        kr_policy_t *policy = registry_parse(
                &err, "{'keyroute':1,'topics':{'t':{'key':{'use':'avro','fields':['id'],'schema':{'registry':'main'}}}},"
                      "'schemas':{'registries':{'main':{'urls':['http://127.0.0.1:1','http://127.0.0.1:%d/broken/',"
                      "'http://127.0.0.1:%d/good']}}}}");

        (void)state;
        assert_non_null(policy);
        registry_says("/broken/schemas/ids/7", (struct http_reply){ .status = 500 });
        registry_has("/good/schemas/ids/7", SCHEMA_A, "");
        registry_has("/good/schemas/ids/8", SCHEMA_A, "");
        assert_routes_as_text(policy, 7, "alice");
        assert_int_equal(registry_requests(), 2);
        assert_routes_as_text(policy, 8, "alice"); /* who answered is asked first */
        assert_int_equal(registry_requests(), 3);
        kr_policy_free(policy);
}

static void test_lying(void **state)
{
        kr_policy_t *policy = registry_policy(",'retries':0,'negative_ttl_ms':20", "", "");

        (void)state;
        kr_policy_start(policy, log_line, NULL);
        for (int id = 1; id <= 4; id++) {
                static const char *const paths[] = { "/schemas/ids/1", "/schemas/ids/2", "/schemas/ids/3", "/schemas/ids/4" };

                registry_has(paths[id - 1], SCHEMA_A, "");
                assert_routes_as_text(policy, id, "alice");
        }
        assert_int_equal(registry_counts(policy).evictions, 2);
        assert_int_equal(registry_counts(policy).plans, 2);
        registry_has("/schemas/ids/1", SCHEMA_B, "");
        assert_int_equal(route_framed(policy, 1, "alice", NULL), KR_KEY_UNRESOLVED);
        log_await("gives another schema than before for id 1");
        while (registry_counts(policy).lies < 3)
                assert_int_equal(route_framed(policy, 1, "alice", NULL), KR_KEY_UNRESOLVED);
        assert_int_equal(log_count("another schema"), 1);
        registry_has("/schemas/ids/1", SCHEMA_A, "\"id\":1");
        route_until(policy, 1, "alice", KR_KEY_PROJECTED);
        assert_routes_as_text(policy, 1, "alice");
        kr_policy_free(policy);
}

static void test_a_flood_of_ids_is_bounded(void **state)
{
        kr_policy_t *policy = registry_policy(",'wait_ms':0", "", "");

        (void)state;
        registry_has("/schemas/ids/7", SCHEMA_A, "");
        route_until(policy, 7, "alice", KR_KEY_PROJECTED);
        for (int id = 1000; id < 21000; id++)
                route_framed(policy, id, "alice", NULL);
        assert_in_range(registry_counts(policy).entries, 1, 4 * 2 + 1024);
        route_until(policy, 7, "alice", KR_KEY_PROJECTED);
        kr_policy_free(policy);
}

static void test_reject(void **state)
{
        kr_policy_t *policy = registry_policy("", "", ",'unresolved':'reject'");
        kr_policy_t *over = registry_policy("", "", "");
        struct kr_routing routing;

        (void)state;
        assert_int_equal(route_framed(policy, 7, "alice", &routing), KR_KEY_UNRESOLVED);
        assert_int_equal(routing.partition, KR_ERR_KEY_UNRESOLVED);
        assert_int_equal(route_framed(over, 7, "alice", &routing), KR_KEY_UNRESOLVED);
        assert_in_range(routing.partition, 0, 999);
        assert_string_not_equal(kr_rule_fingerprint(rule_of(policy)), kr_rule_fingerprint(rule_of(over)));
        kr_policy_free(policy);
        kr_policy_free(over);
}

/* Who judges must not take a registry's absence for a fact about the key. */
static void test_strict(void **state)
{
        kr_policy_t *policy = registry_policy(",'wait_ms':0,'retries':1", "", "");
        kr_policy_t *lenient = registry_policy(",'wait_ms':0,'retries':1", "", "");
        struct kr_routing routing;

        (void)state;
        kr_policy_be_strict(policy);
        assert_true(kr_rule_same_key(rule_of(policy), rule_of(lenient))); /* or each plan would move every key */
        kr_policy_free(lenient);
        registry_has("/schemas/ids/7", SCHEMA_A, "");
        assert_routes_as_text(policy, 7, "alice"); /* waits after all */
        registry_stop();
        assert_int_equal(route_framed(policy, 8, "alice", &routing), KR_KEY_UNRESOLVED);
        assert_int_equal(routing.partition, KR_ERR_KEY_UNRESOLVED);
        registry_start();
        kr_policy_free(policy);
}

/* ---- credentials ----------------------------------------------------------------------------------------------- */

static void test_auth(void **state)
{
        const char *file = file_write("password", "se,cret:é\n");
        char registry[300];
        kr_policy_t *policy;

        (void)state;
        setenv("TEST_TOKEN", "tok.en-1", 1);
        registry_says(NULL, (struct http_reply){ .status = 401 });
        snprintf(registry, sizeof(registry), ",'retries':0,'auth':{'basic':{'user':'svc','password':{'file':'%s'}}}", file);
        policy = registry_policy(registry, "", "");
        kr_policy_start(policy, log_line, NULL);
        route_framed(policy, 7, "alice", NULL);
        assert_non_null(strstr(registry_last_request(), "Authorization: Basic c3ZjOnNlLGNyZXQ6w6k=\r\n"));
        log_await("refuses our credentials");
        assert_int_equal(log_count("se,cret"), 0);
        /* The file is read for each request: a password may be changed while we run. */
        file_write("password", "new");
        route_framed(policy, 8, "alice", NULL);
        assert_non_null(strstr(registry_last_request(), "Authorization: Basic c3ZjOm5ldw==\r\n"));
        kr_policy_free(policy);

        policy = registry_policy(",'retries':0,'auth':{'bearer':{'env':'TEST_TOKEN'}}", "", "");
        kr_policy_start(policy, log_line, NULL);
        route_framed(policy, 7, "alice", NULL);
        assert_non_null(strstr(registry_last_request(), "Authorization: Bearer tok.en-1\r\n"));
        kr_policy_start(policy, NULL, NULL);
        assert_int_equal(log_count("tok.en"), 0);
        kr_policy_free(policy);
}

static void test_credentials_stay_with_their_host(void **state)
{
        kr_policy_t *policy;
        char location[100];

        (void)state;
        setenv("TEST_TOKEN", "tok.en-1", 1);
        snprintf(location, sizeof(location), "Location: http://localhost:%d/elsewhere\r\n", registry_port());
        registry_says("/schemas/ids/7", (struct http_reply){ .status = 302, .headers = location });
        registry_has("/elsewhere", SCHEMA_A, "");
        policy = registry_policy(",'auth':{'bearer':{'env':'TEST_TOKEN'}}", "", "");
        assert_routes_as_text(policy, 7, "alice");
        assert_non_null(strstr(registry_last_request(), "GET /elsewhere"));
        assert_null(strstr(registry_last_request(), "Authorization"));
        kr_policy_free(policy);
}

/* ---- policies -------------------------------------------------------------------------------------------------- */

#define TOPICS(key) "'topics':{'t':{'key':{'use':'avro','fields':['id']," key "}}}"
#define REGISTRY(members) "{'keyroute':1," TOPICS("'schema':{'registry':'main'}") ",'schemas':{'registries':{'main':{" members "}}}}"
#define KEY(key) "{'keyroute':1," TOPICS(key) ",'schemas':{'registries':{'main':{'urls':['http://h']}}}}"

static void test_wrong_policies(void **state)
{
        static const char *const wrong[][2] = {
                { "{'keyroute':1," TOPICS("'schema':{'registry':'main'}") "}",
                  "topics.t.key.schema.registry: no registry \"main\" stands in \"schemas\".\"registries\"" },
                { "{'keyroute':1,'topics':{'*':{}},'schemas':{}}", "schemas: expected \"registries\"" },
                { "{'keyroute':1,'topics':{'*':{}},'schemas':{'cache':0,'registries':{}}}", "schemas.cache: expected a whole" },
                { REGISTRY(""), "schemas.registries.main: \"urls\" is missing" },
                { REGISTRY("'urls':'x'"), "main.urls: expected a list" },
                { REGISTRY("'urls':['x']"), "main.urls[0]: expected a base URL" },
                { REGISTRY("'urls':['http://u:p@h']"), "carries no user and no password" },
                { REGISTRY("'urls':['http://h?x']"), "no query" },
                { REGISTRY("'urls':['http://h'],'waits_ms':1"), "unknown field \"waits_ms\"; did you mean \"wait_ms\"?" },
                { REGISTRY("'urls':['http://h'],'wait_ms':-1"), "wait_ms: expected a whole number from 0 to 60000" },
                { REGISTRY("'urls':['http://h'],'ca':'/no/such'"), "main.ca: cannot read /no/such: No such file" },
                { REGISTRY("'urls':['http://h'],'ca':'/dev/null'"), "main.ca: /dev/null is no regular file" },
                { REGISTRY("'urls':['http://h'],'auth':{}"), "expected one of \"basic\" and \"bearer\"" },
                { REGISTRY("'urls':['http://h'],'auth':{'bearer':'hush'}"), "a secret never stands in a policy" },
                { REGISTRY("'urls':['http://h'],'auth':{'bearer':{'env':'NOT_SET'}}"), "auth.bearer: the environment's NOT_SET is not set" },
                { REGISTRY("'urls':['http://h'],'auth':{'bearer':{'file':'/no/such'}}"), "cannot read the file /no/such" },
                { REGISTRY("'urls':['http://h'],'auth':{'bearer':{'file':'/tmp'}}"), "the file /tmp is no regular file" },
                { REGISTRY("'urls':['http://h'],'auth':{'basic':{'user':'u'}}"), "auth.basic.password: is missing" },
                { REGISTRY("'urls':['http://h'],'auth':{'basic':{'user':'u:hush','password':{'env':'PATH'}}}"),
                  "auth.basic.user: a user's name has no \":\"" },
                { KEY("'schema':{'registry':'main','frame':'none'}"), "need a \"subject\"" },
                { KEY("'schema':{'registry':'main','version':1}"), "schema.version: is of a \"subject\"" },
                { KEY("'schema':{'registry':'main','subject':'s','version':'newest'}"), "expected \"latest\" or the number" },
                { KEY("'schema':{'registry':'main','frame':'x'}"), "expected \"registry\" or \"none\"" },
                { KEY("'schema':{'registry':'main','id-bytes':5}"), "expected 4" },
                { KEY("'schema':{'registry':'main'},'over':'payload'"), "must not be taken off before" },
                { KEY("'schema':{'registry':'main'},'unresolved':'maybe'"), "expected \"whole-key\" or \"reject\"" },
                { KEY("'schema':{'inline':'string'},'unresolved':'reject'"), "is for schemas of a registry" },
                { KEY("'schema':{'registry':'main'},'reader':{'inline':'string'}"), "id" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                struct kr_error err;

                if (registry_parse(&err, wrong[i][0]))
                        fail_msg("was taken: %s", wrong[i][0]);
                if (!strstr(err.text, wrong[i][1]))
                        fail_msg("expected \"%s\" in: %s", wrong[i][1], err.text);
                assert_null(strstr(err.text, "hush"));
        }
}

static void test_wrong_files(void **state)
{
        struct kr_error err;
        char text[1000];

        (void)state;
        snprintf(text, sizeof(text), REGISTRY("'urls':['http://h'],'ca':'%s'"), file_write("ca.pem", "{}\n"));
        assert_null(registry_parse(&err, text));
        assert_non_null(strstr(err.text, "ca.pem holds no certificate in PEM"));
        /* Half of a secret would be sent as one. */
        for (int len = 8190; len < 8300; len += len < 8194 ? 1 : 100) {
                kr_policy_t *policy;

                snprintf(text, sizeof(text), REGISTRY("'urls':['http://h'],'auth':{'bearer':{'file':'%s'}}"),
                         file_write("token", "%0*d\nnot part of it", len, 1));
                policy = registry_parse(&err, text);
                if (policy ? len >= 8192 : len < 8192 || !strstr(err.text, "token is too long"))
                        fail_msg("%d bytes: %s", len, policy ? "taken" : err.text);
                kr_policy_free(policy);
        }
}

/* Where schemas are asked for does not route; what is read by them does. */
static void test_fingerprint(void **state)
{
        struct kr_error err;
        kr_policy_t *one = registry_policy(",'wait_ms':1", "", "");
        kr_policy_t *other = registry_parse(&err, "{'keyroute':1," TOPICS("'schema':{'registry':'b'}")
                                                  ",'schemas':{'cache':9,'registries':{'b':{'urls':['https://h/x']}}}}");
        kr_policy_t *subject = registry_policy("", ",'subject':'s'", "");

        (void)state;
        assert_string_equal(kr_rule_fingerprint(rule_of(one)), kr_rule_fingerprint(rule_of(other)));
        assert_string_not_equal(kr_rule_fingerprint(rule_of(one)), kr_rule_fingerprint(rule_of(subject)));
        kr_policy_free(one);
        kr_policy_free(other);
        kr_policy_free(subject);
}

static void test_fork(void **state)
{
        kr_policy_t *policy = registry_policy("", "", "");
        pid_t child;
        int status;

        (void)state;
        registry_has("/schemas/ids/7", SCHEMA_A, "");
        registry_has("/schemas/ids/8", SCHEMA_A, "");
        assert_routes_as_text(policy, 7, "alice");
        child = fork();
        if (!child) {
                bool ok = route_framed(policy, 7, "alice", NULL) == KR_KEY_PROJECTED &&
                          route_framed(policy, 8, "alice", NULL) == KR_KEY_UNRESOLVED;

                kr_policy_free(policy);
                _exit(ok ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_routes_as_text(policy, 8, "alice");
        kr_policy_free(policy);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, registry_setup, registry_teardown)
        const struct CMUnitTest tests[] = {
                TEST(test_by_id),
                TEST(test_ids_of_one_schema_share_its_plan),
                TEST(test_eight_byte_ids_and_guids),
                TEST(test_references),
                TEST(test_bare_keys),
                TEST(test_fields_that_are_not_there),
                TEST(test_read_ahead),
                TEST(test_nothing_to_read_ahead_is_no_trouble),
                TEST(test_each_trouble_is_said_and_gets_over),
                TEST(test_a_bad_id_costs_nothing_until_its_time),
                TEST(test_down_and_back),
                TEST(test_slow_costs_one_bounded_wait),
                TEST(test_failover),
                TEST(test_lying),
                TEST(test_a_flood_of_ids_is_bounded),
                TEST(test_reject),
                TEST(test_strict),
                TEST(test_auth),
                TEST(test_credentials_stay_with_their_host),
                TEST(test_wrong_policies),
                TEST(test_wrong_files),
                TEST(test_fingerprint),
                TEST(test_fork),
        };

        return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
