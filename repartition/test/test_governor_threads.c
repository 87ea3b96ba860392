/* A job's governor with all its threads, but for the lag of groups, which needs a Kafka (interop-tests). */
#include "clock.h"
#include "io/control.h"
#include "job/governor.h"
#include "job/rewrite.h"
#include "memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <jansson.h>
#include <keyroute.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/keyroute-governor-XXXXXX";
static char socket_path[80], status_path[80], metrics_path[80], flag_path[80], other_flag_path[80], panic_path[80];
static const char *const flags[] = { flag_path, other_flag_path };

static struct rp_governor_config full_config(void)
{
        return (struct rp_governor_config){
                .kind = "rewrite", .job = "a \"job\"", .source = "orders", .target = "orders.v2", .transaction_ms = 1000,
                .flag_files = flags, .flag_file_cnt = 2, .panic_file = panic_path, .control_path = socket_path,
                .status_path = status_path, .metrics_path = metrics_path,
        };
}

static struct rp_governor *start(const struct rp_governor_config *config)
{
        struct rp_governor *governor;
        struct rp_error err;

        if (rp_governor_new(&governor, config, &err) != RP_OK)
                fail_msg("%s", err.text);
        return governor;
}

static void touch(const char *path)
{
        FILE *file = fopen(path, "w");

        assert_non_null(file);
        fclose(file);
}

static json_t *load_status(void)
{
        json_error_t error;
        json_t *json = json_load_file(status_path, 0, &error);

        if (!json)
                fail_msg("%s: %s", status_path, error.text);
        return json;
}

static const char *state_of(const json_t *status)
{
        return json_string_value(json_object_get(status, "state"));
}

/* Asks through the socket; the caller's reference to the status, or to the error's text. */
static json_t *ask(const char *line)
{
        struct rp_error err;
        char *text;
        json_t *reply, *part;

        if (rp_control_ask(socket_path, line, 10000, &text, &err) != RP_OK)
                fail_msg("%s", err.text);
        reply = json_loads(text, 0, NULL);
        assert_non_null(reply);
        part = json_object_get(reply, json_is_true(json_object_get(reply, "ok")) ? "status" : "error");
        assert_non_null(part);
        json_incref(part);
        json_decref(reply);
        free(text);
        return part;
}

static void assert_state(const char *line, const char *want)
{
        json_t *status = ask(line);

        assert_string_equal(state_of(status), want);
        json_decref(status);
}

/* As a loop does while it is made to wait; until the answer is as wanted. */
static void await_hold(struct rp_governor *governor, bool holds)
{
        for (int i = 0; i < 600; i++) {
                if ((rp_governor_hold(governor, 0, 0) > 0) == holds)
                        return;
                rp_clock_sleep_ms(20);
        }
        fail_msg("it %s", holds ? "is not held" : "is held for ever");
}

static bool tell(struct rp_governor *governor, uint64_t done, uint64_t uncommitted)
{
        const struct rp_counter counters[] = {
                { "records_copied_total", "Copied", NULL, NULL, done },
                { "transactions_total", "By outcome", "outcome", "rolled-back", 3 },
        };
        const struct rp_pulse pulse = { .done = done, .total = 200, .uncommitted = uncommitted, .counters = counters,
                                        .counter_cnt = 2, .trouble = done ? "a broker went away" : NULL };

        return rp_governor_tell(governor, &pulse);
}

static void test_a_life(void **state)
{
        struct rp_governor_config config = full_config();
        struct rp_governor *governor = start(&config);
        struct rp_error err = { RP_ERR_FATAL, "it broke" };
        json_t *status = load_status(), *counters;
        struct stat st;

        (void)state;
        assert_string_equal(state_of(status), "running"); /* it is there as soon as the job is */
        assert_int_equal(json_integer_value(json_object_get(status, "pid")), getpid());
        assert_true(json_is_null(json_object_get(status, "exit_code")));
        json_decref(status);
        assert_int_equal(rp_governor_hold(governor, 1000000, 1000), 0); /* no limit */
        assert_true(tell(governor, 50, 7));

        assert_state("pause", "pausing");
        assert_int_equal(rp_governor_hold(governor, 0, 0), RP_HOLD_OPEN_MS);
        assert_string_equal(rp_governor_why(governor), "paused: waits for resume");
        assert_state("status", "pausing"); /* a transaction is open */
        assert_true(tell(governor, 50, 0));
        assert_state("status", "paused");
        assert_state("resume", "running");
        assert_int_equal(rp_governor_hold(governor, 0, 0), 0);
        assert_string_equal(rp_governor_why(governor), "");

        assert_int_equal(*rp_governor_transaction_ms(governor), 1000);
        status = ask("set throttle-records=10 transaction-ms=77");
        assert_int_equal(json_integer_value(json_object_get(json_object_get(status, "limits"), "throttle_records")), 10);
        json_decref(status);
        assert_in_range(rp_governor_hold(governor, 500, 600), 50000, 60000); /* at once; a minute's worth */
        assert_int_equal(*rp_governor_transaction_ms(governor), 77);
        status = ask("set throttle-records=ten");
        assert_true(json_is_string(status));
        json_decref(status);
        status = ask("\xff\x01 nonsense");
        assert_true(json_is_string(status));
        json_decref(status);

        assert_true(tell(governor, 100, 0));
        assert_state("stop", "stopping");
        assert_false(tell(governor, 101, 0));
        rp_governor_end(governor, "failed", 3, &err, json_pack("{s:i}", "records", 101));
        assert_non_null(strstr(rp_governor_stopper(governor), "ctl"));
        assert_int_not_equal(stat(socket_path, &st), 0);
        rp_governor_free(governor);
        status = load_status();
        assert_string_equal(state_of(status), "failed");
        assert_int_equal(json_integer_value(json_object_get(status, "exit_code")), 3);
        assert_string_equal(json_string_value(json_object_get(status, "last_error")), "it broke");
        assert_int_equal(json_integer_value(json_object_get(json_object_get(status, "result"), "records")), 101);
        counters = json_object_get(status, "counters");
        assert_int_equal(json_integer_value(json_object_get(counters, "records_copied")), 101);
        assert_int_equal(json_integer_value(json_object_get(counters, "transactions_rolled_back")), 3);
        json_decref(status);
}

static void test_flag_files_hold_and_release(void **state)
{
        struct rp_governor_config config = full_config();
        struct rp_governor *governor;

        (void)state;
        touch(other_flag_path); /* it is looked for before the first record */
        governor = start(&config);
        assert_int_equal(rp_governor_hold(governor, 0, 0), RP_HOLD_OPEN_MS);
        assert_non_null(strstr(rp_governor_why(governor), other_flag_path));
        assert_true(tell(governor, 0, 0));
        assert_state("status", "throttled");
        unlink(other_flag_path);
        await_hold(governor, false);
        touch(flag_path);
        await_hold(governor, true);
        unlink(flag_path);
        await_hold(governor, false);
        rp_governor_end(governor, "finished", 0, NULL, NULL);
        rp_governor_free(governor);
}

static void test_panic_file(void **state)
{
        struct rp_governor_config config = full_config();
        struct rp_governor *governor;
        struct rp_error err;
        bool goes_on = true;

        (void)state;
        governor = start(&config);
        touch(panic_path);
        for (int i = 0; goes_on && i < 600; i++) {
                goes_on = tell(governor, 1, 0);
                rp_clock_sleep_ms(20);
        }
        assert_false(goes_on);
        rp_governor_free(governor);
        assert_int_equal(rp_governor_new(&governor, &config, &err), RP_ERR_USAGE);
        assert_null(governor);
        assert_non_null(strstr(err.text, "remove it"));
        unlink(panic_path);
}

static void test_paths_that_cannot_be_used(void **state)
{
        struct rp_governor_config config = full_config();
        struct rp_governor *governor;
        struct rp_error err;

        (void)state;
        config.status_path = folder; /* a folder */
        assert_int_equal(rp_governor_new(&governor, &config, &err), RP_ERR_USAGE);
        assert_non_null(strstr(err.text, "no regular file"));
        config.status_path = NULL;
        config.metrics_path = "/nowhere/at/all.prom";
        assert_int_equal(rp_governor_new(&governor, &config, &err), RP_ERR_USAGE);
        assert_non_null(strstr(err.text, "/nowhere/at/all.prom"));
        assert_int_not_equal(access(socket_path, F_OK), 0); /* nothing stays behind */
}

/* What a web client gets for this request; the caller's. */
static char *fetch(int port, const char *request)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        char *text = calloc(1, 1 << 16);
        size_t len = 0;
        ssize_t got;

        assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
        while ((got = recv(fd, text + len, (1 << 16) - 1 - len, 0)) > 0)
                len += (size_t)got;
        close(fd);
        return text;
}

static void test_web_server(void **state)
{
        static const struct {
                const char *request, *status, *text;
        } cases[] = {
                { "GET /metrics HTTP/1.0\r\n\r\n", " 200 ", "keyroute_records_copied_total{job=\"a \\\"job\\\"\"} 42\n" },
                { "GET /status HTTP/1.0\r\n\r\n", " 200 ", "\"records_copied\": 42" },
                { "GET /healthz?verbose HTTP/1.0\r\n\r\n", " 200 ", "ok\n" },
                { "GET / HTTP/1.0\r\n\r\n", " 404 ", "/metrics" },
                { "GET /../../etc/passwd HTTP/1.0\r\n\r\n", " 404 ", "/metrics" },
                { "POST /metrics HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello", " 405 ", "only GET" },
        };
        static const char *const addresses[] = { "", ":", "70000", "-1", "localhost", "1:2:3",
                                                 "127.0.0.1:", "[::1]", "127.0.0.1:65536" };
        struct rp_governor_config config = { .kind = "rewrite", .job = "a \"job\"", .source = "orders", .transaction_ms = 1000,
                                             .metrics_address = "0" };
        struct rp_governor *governor = start(&config), *second;
        int port = rp_governor_metrics_port(governor);
        struct rp_error err;
        char taken[16];

        (void)state;
        assert_true(tell(governor, 42, 0));
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                char *answer = fetch(port, cases[i].request);

                if (strncmp(answer + strlen("HTTP/1.x"), cases[i].status, 5) || !strstr(answer, cases[i].text))
                        fail_msg("%s: %s", cases[i].request, answer);
                free(answer);
        }
        snprintf(taken, sizeof(taken), ":%d", port);
        config.metrics_address = taken;
        assert_int_equal(rp_governor_new(&second, &config, &err), RP_ERR_USAGE);
        assert_non_null(strstr(err.text, "Address already in use"));
        rp_governor_end(governor, "finished", 0, NULL, NULL);
        rp_governor_free(governor);
        for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
                config.metrics_address = addresses[i];
                if (rp_governor_new(&governor, &config, &err) != RP_ERR_USAGE || !strstr(err.text, "--metrics-listen"))
                        fail_msg("\"%s\" was taken, or: %s", addresses[i], err.text);
        }
}

static void set_file_limit(rlim_t bytes)
{
        struct rlimit limit;

        getrlimit(RLIMIT_FSIZE, &limit);
        limit.rlim_cur = bytes;
        setrlimit(RLIMIT_FSIZE, &limit);
}

/* As a full disk: the job hears of it once, the old file stays, and later ones are written again. */
static void test_full_disk_is_told_once(void **state)
{
        struct rp_governor_config config = full_config();
        struct rp_governor *governor;
        struct rp_error complaint = { 0 };
        bool heard = false;
        json_t *status;

        (void)state;
        config.metrics_path = NULL;
        governor = start(&config);
        signal(SIGXFSZ, SIG_IGN);
        set_file_limit(10);
        for (int i = 0; !heard && i < 600; i++) {
                assert_true(tell(governor, 42, 0));
                heard = rp_governor_take_complaint(governor, &complaint);
                rp_clock_sleep_ms(20);
        }
        assert_true(heard);
        assert_non_null(strstr(complaint.text, status_path));
        for (int i = 0; i < 3; i++)
                assert_state("resume", "running"); /* each has the file written anew, in vain */
        assert_false(rp_governor_take_complaint(governor, &complaint));
        status = load_status();
        json_decref(status);
        set_file_limit(RLIM_INFINITY);
        rp_governor_end(governor, "finished", 0, NULL, NULL);
        assert_false(rp_governor_take_complaint(governor, &complaint));
        rp_governor_free(governor);
        status = load_status();
        assert_string_equal(state_of(status), "finished");
        json_decref(status);
}

/* ---- a real loop under it ----------------------------------------------------------------------------------------- */

static void *pause_and_resume(void *arg)
{
        (void)arg;
        unlink(flag_path);
        for (int i = 0; i < 20; i++) {
                json_decref(ask(i % 2 ? "resume" : "pause"));
                json_decref(ask(i % 3 ? "set transaction-ms=20" : "set transaction-ms=500 throttle-bytes=1G"));
        }
        return NULL;
}

struct seen {
        struct rp_governor *governor;
        const struct memory_cluster *cluster;
        bool was_held_first;
        pthread_t steering;
        bool is_steered;
};

static bool on_tick(void *arg, const struct rp_rewrite_report *report)
{
        struct seen *seen = arg;

        if (!seen->is_steered) { /* the flag file is there: not one record may have gone */
                seen->was_held_first = *rp_governor_why(seen->governor) && !report->records && !report->uncommitted &&
                                       !seen->cluster->commits;
                seen->is_steered = !pthread_create(&seen->steering, NULL, pause_and_resume, NULL);
        }
        return tell(seen->governor, report->records, report->uncommitted);
}

static void test_rewrite_is_held_before_its_first_record(void **state)
{
        struct rp_governor_config config = full_config();
        struct kr_error kerr;
        kr_policy_t *policy = kr_policy_from_hash("murmur2", &kerr);
        struct memory_topic topic;
        struct memory_cluster cluster;
        struct rp_rewrite_report report;
        struct rp_error err;
        struct seen seen = { .cluster = &cluster };
        size_t copied = 0;

        (void)state;
        memory_topic_init(&topic, 3);
        memory_cluster_init(&cluster, 3, 5);
        for (int i = 0; i < 3000; i++) {
                char key[16];
                struct rp_record rec = { .key = key, .key_len = (size_t)snprintf(key, sizeof(key), "%d", i), .value = "v",
                                         .value_len = 1, .timestamp_ms = i };

                memory_topic_add(&topic, i % 3, &rec, 0);
        }
        touch(flag_path);
        seen.governor = start(&config);
        {
                struct rp_source *source = memory_source_new(&topic, &(struct faults){ 0 }, 42);
                struct rp_sink *sink = memory_sink_new(&cluster, &(struct faults){ 0 });
                struct rp_rewrite rewrite = {
                        .source = source, .sink = sink, .rule = kr_policy_rule(policy, "orders"), .identity = "job",
                        .by = "host/1", .transaction_ms = 1000, .transaction_bytes = 100, .tick = on_tick, .arg = &seen,
                        .hold = rp_governor_hold, .hold_arg = seen.governor,
                        .transaction_ms_now = rp_governor_transaction_ms(seen.governor),
                };

                assert_int_equal(rp_rewrite_run(&rewrite, &report, &err), RP_OK);
                pthread_join(seen.steering, NULL);
                sink->ops->free(sink);
                source->ops->free(source);
        }
        assert_true(seen.was_held_first);
        assert_int_equal(report.records, 3000);
        for (int32_t p = 0; p < 5; p++)
                copied += cluster.target.logs[p].cnt;
        assert_int_equal(copied, 3000);
        rp_governor_end(seen.governor, "finished", 0, NULL, NULL);
        rp_governor_free(seen.governor);
        memory_topic_release(&topic);
        memory_cluster_release(&cluster);
        kr_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_life),
                cmocka_unit_test(test_flag_files_hold_and_release),
                cmocka_unit_test(test_panic_file),
                cmocka_unit_test(test_paths_that_cannot_be_used),
                cmocka_unit_test(test_web_server),
                cmocka_unit_test(test_full_disk_is_told_once),
                cmocka_unit_test(test_rewrite_is_held_before_its_first_record),
        };
        int failed;

        if (!mkdtemp(folder))
                return 1;
        snprintf(socket_path, sizeof(socket_path), "%s/socket", folder);
        snprintf(status_path, sizeof(status_path), "%s/status.json", folder);
        snprintf(metrics_path, sizeof(metrics_path), "%s/job.prom", folder);
        snprintf(flag_path, sizeof(flag_path), "%s/flag", folder);
        snprintf(other_flag_path, sizeof(other_flag_path), "%s/flag-of-all", folder);
        snprintf(panic_path, sizeof(panic_path), "%s/panic", folder);
        failed = cmocka_run_group_tests(tests, NULL, NULL);
        unlink(status_path);
        unlink(metrics_path);
        return rmdir(folder) ? 1 : failed; /* nothing else was left there */
}
