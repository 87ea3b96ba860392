/* The control socket: who may connect, dead sockets, and what hostile peers send. */
#include "io/control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/keyroute-control-XXXXXX";
static char path[64];

static char *echo(void *arg, const char *line)
{
        char *text;

        (void)arg;
        if (!strcmp(line, "large")) {
                text = calloc(1, 300001);
                return memset(text, 'x', 300000);
        }
        return asprintf(&text, "<%s>", line) < 0 ? NULL : text;
}

/* A server on a thread of its own. */
struct server {
        struct rp_control *control;
        pthread_t thread;
        int wake_fd;
        atomic_bool is_over;
};

static void *serve(void *arg)
{
        struct server *server = arg;

        while (!server->is_over)
                rp_control_serve(server->control, 10000, server->wake_fd);
        return NULL;
}

static void server_start(struct server *server)
{
        struct rp_error err;

        if (rp_control_new(&server->control, path, echo, NULL, &err) != RP_OK)
                fail_msg("%s", err.text);
        server->wake_fd = eventfd(0, EFD_CLOEXEC);
        server->is_over = false;
        assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_stop(struct server *server)
{
        uint64_t one = 1;

        server->is_over = true;
        assert_int_equal(write(server->wake_fd, &one, sizeof(one)), sizeof(one));
        pthread_join(server->thread, NULL);
        rp_control_free(server->control);
        close(server->wake_fd);
}

static void assert_reply(const char *line, const char *want)
{
        struct rp_error err = { 0 };
        char *reply;

        if (rp_control_ask(path, line, 5000, &reply, &err) != RP_OK)
                fail_msg("%s", err.text);
        assert_string_equal(reply, want);
        free(reply);
}

static int connect_raw(void)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        strcpy(address.sun_path, path);
        assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        return fd;
}

/* All that comes until the other side hangs up, or until `lines` lines were read (0: no such limit). */
static char *receive_all(int fd, size_t lines)
{
        char *text = calloc(1, 1 << 16);
        size_t len = 0;

        while (len < (1 << 16) - 1) {
                ssize_t got = recv(fd, text + len, (1 << 16) - 1 - len, 0);

                if (got <= 0)
                        break;
                for (ssize_t i = 0; i < got; i++)
                        if (text[len + (size_t)i] == '\n' && lines && !--lines)
                                return text;
                len += (size_t)got;
        }
        return text;
}

static void test_question_and_answer(void **state)
{
        struct server server;
        struct rp_error err = { 0 };
        struct stat st;
        char *reply;

        (void)state;
        server_start(&server);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_reply("status", "<status>");
        assert_reply("", "<>");
        assert_reply("two words", "<two words>");
        assert_int_equal(rp_control_ask(path, "large", 5000, &reply, &err), RP_OK);
        assert_int_equal(strlen(reply), 300000);
        free(reply);
        server_stop(&server);
        assert_int_not_equal(access(path, F_OK), 0);
        assert_int_equal(rp_control_ask(path, "status", 5000, &reply, &err), RP_ERR_RETRY);
        assert_non_null(strstr(err.text, "no job with --control-socket"));
}

static void test_several_lines_on_one_connection(void **state)
{
        static const char lines[] = "one\r\ntwo\nthree\nfo";
        struct server server;
        char *text;
        int fd;

        (void)state;
        server_start(&server);
        fd = connect_raw();
        assert_int_equal(send(fd, lines, sizeof(lines) - 1, 0), sizeof(lines) - 1);
        text = receive_all(fd, 3);
        assert_string_equal(text, "<one>\n<two>\n<three>\n");
        free(text);
        assert_int_equal(send(fd, "ur\n", 3, 0), 3);
        text = receive_all(fd, 1);
        assert_string_equal(text, "<four>\n");
        free(text);
        close(fd);
        server_stop(&server);
}

static void test_hostile_peers(void **state)
{
        struct server server;
        char flood[4096], *text;
        int idle[RP_CONTROL_PEERS - 1], fd;

        (void)state;
        server_start(&server);
        for (size_t i = 0; i < RP_CONTROL_PEERS - 1; i++) /* they take places and say nothing */
                idle[i] = connect_raw();
        memset(flood, 'a', sizeof(flood));
        fd = connect_raw();
        (void)!send(fd, flood, sizeof(flood), MSG_NOSIGNAL);
        text = receive_all(fd, 0); /* answered, then hung up on */
        assert_non_null(strstr(text, "\"ok\": false"));
        free(text);
        close(fd);
        fd = connect_raw();
        assert_int_equal(send(fd, "a\0b\n", 4, 0), 4);
        text = receive_all(fd, 1);
        assert_non_null(strstr(text, "NUL"));
        free(text);
        assert_int_equal(send(fd, "\xff\x1b[31m\n", 7, 0), 7);
        text = receive_all(fd, 1);
        assert_string_equal(text, "<\xff\x1b[31m>\n");
        free(text);
        for (int i = 0; i < 300; i++) /* asks and never listens, until nothing more can be sent */
                if (send(fd, "large\n", 6, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                        break;
        close(fd);
        assert_reply("alive", "<alive>");
        for (size_t i = 0; i < RP_CONTROL_PEERS - 1; i++)
                close(idle[i]);
        server_stop(&server);
}

static void test_socket_of_a_dead_run_is_replaced(void **state)
{
        struct server server;
        struct rp_error err = { 0 };
        struct rp_control *second;
        char *reply;
        int status;
        pid_t child = fork();

        (void)state;
        if (!child) {
                struct rp_control *control;

                if (rp_control_new(&control, path, echo, NULL, &err) != RP_OK)
                        _exit(1);
                _exit(0); /* as a killed process: the socket's file stays */
        }
        waitpid(child, &status, 0);
        assert_int_equal(status, 0);
        assert_int_equal(access(path, F_OK), 0);
        assert_int_equal(rp_control_ask(path, "status", 5000, &reply, &err), RP_ERR_RETRY);
        assert_non_null(strstr(err.text, "the job was killed"));
        server_start(&server);
        assert_reply("status", "<status>");
        assert_int_equal(rp_control_new(&second, path, echo, NULL, &err), RP_ERR_USAGE);
        assert_null(second);
        assert_non_null(strstr(err.text, "another process listens there"));
        assert_reply("still", "<still>");
        server_stop(&server);
}

static void test_what_is_no_socket_of_ours(void **state)
{
        struct rp_error err = { 0 };
        struct rp_control *control;
        char name[300], *reply;
        FILE *file;

        (void)state;
        file = fopen(path, "w");
        fputs("precious", file);
        fclose(file);
        assert_int_equal(rp_control_new(&control, path, echo, NULL, &err), RP_ERR_USAGE);
        assert_non_null(strstr(err.text, "it is no socket"));
        assert_int_equal(rp_control_ask(path, "status", 5000, &reply, &err), RP_ERR_USAGE);
        assert_non_null(strstr(err.text, "is no socket"));
        assert_int_equal(access(path, F_OK), 0);
        unlink(path);
        memset(name, 'n', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        assert_int_equal(rp_control_new(&control, name, echo, NULL, &err), RP_ERR_USAGE);
        assert_non_null(strstr(err.text, "107 bytes"));
        snprintf(name, sizeof(name), "%s/nowhere/socket", folder);
        assert_int_equal(rp_control_new(&control, name, echo, NULL, &err), RP_ERR_USAGE);
        assert_non_null(strstr(err.text, "No such file"));
}

/* A process that is stopped accepts (the kernel does) and never answers. */
static void test_silence_has_an_end(void **state)
{
        struct rp_error err = { 0 };
        struct rp_control *control;
        char *reply;

        (void)state;
        assert_int_equal(rp_control_new(&control, path, echo, NULL, &err), RP_OK);
        assert_int_equal(rp_control_ask(path, "status", 100, &reply, &err), RP_ERR_RETRY);
        assert_non_null(strstr(err.text, "does not answer"));
        rp_control_free(control);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_question_and_answer),
                cmocka_unit_test(test_several_lines_on_one_connection),
                cmocka_unit_test(test_hostile_peers),
                cmocka_unit_test(test_socket_of_a_dead_run_is_replaced),
                cmocka_unit_test(test_what_is_no_socket_of_ours),
                cmocka_unit_test(test_silence_has_an_end),
        };
        int failed;

        if (!mkdtemp(folder))
                return 1;
        snprintf(path, sizeof(path), "%s/socket", folder);
        failed = cmocka_run_group_tests(tests, NULL, NULL);
        unlink(path);
        rmdir(folder);
        return failed;
}
