/* io/file, io/state_file: a result file is there as a whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/file.h"
#include "io/state_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], path[128];

static int setup(void **state)
{
        (void)state;
        strcpy(folder, "/tmp/repartition-test-XXXXXX");
        if (!mkdtemp(folder))
                return -1;
        snprintf(path, sizeof(path), "%s/result.json", folder);
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        unlink(path);
        return rmdir(folder); /* fails when anything else was left there */
}

static void assert_content(const char *want)
{
        char text[100] = "";
        FILE *file = fopen(path, "rb");

        assert_non_null(file);
        assert_int_equal(fread(text, 1, sizeof(text) - 1, file), strlen(want));
        assert_string_equal(text, want);
        fclose(file);
}

static unsigned files_in_folder(void)
{
        DIR *dir = opendir(folder);
        unsigned cnt = 0;

        while (readdir(dir))
                cnt++;
        closedir(dir);
        return cnt - 2;
}

static rp_err_t see_content(const char *part, void *opaque, struct rp_error *err)
{
        struct stat st;

        (void)err;
        assert_int_equal(stat(part, &st), 0);
        *(off_t *)opaque = st.st_size;
        return RP_OK;
}

static rp_err_t refuse(const char *part, void *opaque, struct rp_error *err)
{
        (void)part;
        (void)opaque;
        return rp_fail(err, RP_ERR_USAGE, "not good");
}

static void test_new_and_replaced(void **state)
{
        struct rp_error err;
        struct stat st;
        off_t seen = 0;
        mode_t mask = umask(022);

        (void)state;
        assert_int_equal(rp_file_replace(path, "one", 3, NULL, NULL, &err), RP_OK);
        assert_content("one");
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0644);
        assert_int_equal(chmod(path, 0640), 0);
        assert_int_equal(rp_file_replace(path, "three", 5, see_content, &seen, &err), RP_OK);
        assert_int_equal(seen, 5);
        assert_content("three");
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        assert_int_equal(files_in_folder(), 1);
        umask(mask);
}

static void test_what_is_refused_leaves_no_trace(void **state)
{
        struct rp_error err;

        (void)state;
        assert_int_equal(rp_file_replace(path, "bad", 3, refuse, NULL, &err), RP_ERR_USAGE);
        assert_string_equal(err.text, "not good");
        assert_int_equal(files_in_folder(), 0);
        assert_int_equal(rp_file_replace(path, "good", 4, NULL, NULL, &err), RP_OK);
        assert_int_equal(rp_file_replace(path, "bad", 3, refuse, NULL, &err), RP_ERR_USAGE);
        assert_content("good");
        assert_int_equal(files_in_folder(), 1);
}

static void test_a_folder_that_is_not_there(void **state)
{
        struct rp_error err;

        (void)state;
        assert_int_equal(rp_file_replace("/nowhere/at/all.json", "x", 1, NULL, NULL, &err), RP_ERR_USAGE);
        assert_string_equal(err.text, "/nowhere/at/all.json: cannot write a file beside it: No such file or directory");
}

static void test_a_folder_in_the_place_of_the_file(void **state)
{
        struct rp_error err;

        (void)state;
        assert_int_equal(mkdir(path, 0755), 0);
        assert_int_equal(rp_file_replace(path, "x", 1, NULL, NULL, &err), RP_ERR_USAGE);
        assert_non_null(strstr(err.text, "result.json: cannot write: Is a directory"));
        assert_int_equal(files_in_folder(), 1);
        rmdir(path);
}

static void test_a_pipe_is_written_to_and_stays(void **state)
{
        struct rp_error err;
        struct stat st;
        char text[8] = "";
        int reader;

        (void)state;
        assert_int_equal(mkfifo(path, 0600), 0);
        reader = open(path, O_RDONLY | O_NONBLOCK);
        assert_true(reader >= 0);
        assert_int_equal(rp_file_replace(path, "one", 3, refuse, NULL, &err), RP_OK);
        assert_int_equal(read(reader, text, sizeof(text)), 3);
        assert_string_equal(text, "one");
        assert_int_equal(stat(path, &st), 0);
        assert_true(S_ISFIFO(st.st_mode));
        assert_int_equal(files_in_folder(), 1);
        close(reader);
}

static void test_a_full_device(void **state)
{
        struct rp_error err;

        (void)state;
        assert_int_equal(symlink("/dev/full", path), 0);
        assert_int_equal(rp_file_replace(path, "x", 1, NULL, NULL, &err), RP_ERR_USAGE);
        assert_non_null(strstr(err.text, "result.json: cannot write: No space left on device"));
        assert_int_equal(files_in_folder(), 1);
}

static void test_a_state_in_a_pipe(void **state)
{
        struct rp_state_file *file;
        struct rp_error err;

        (void)state;
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_int_equal(rp_state_open(path, &file, &err), RP_ERR_USAGE); /* and waits for nobody */
        assert_non_null(strstr(err.text, "no regular file"));
        assert_null(rp_state_create(path, &err));
        assert_non_null(strstr(err.text, "no regular file"));
        assert_int_equal(files_in_folder(), 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_new_and_replaced, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_refused_leaves_no_trace, setup, teardown),
                cmocka_unit_test(test_a_folder_that_is_not_there),
                cmocka_unit_test_setup_teardown(test_a_folder_in_the_place_of_the_file, setup, NULL),
                cmocka_unit_test_setup_teardown(test_a_pipe_is_written_to_and_stays, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_full_device, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_state_in_a_pipe, setup, teardown),
        };
        int failed = cmocka_run_group_tests(tests, NULL, NULL);

        rmdir(folder);
        return failed;
}
