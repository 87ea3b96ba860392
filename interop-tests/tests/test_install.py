"""make install: the tree works for whoever finds it through pkg-config, and uninstall leaves nothing."""

import pytest
from support import BUILD, ROOT, need_command, run

PREFIX = "/opt/keyroute-test"

PROGRAM = r"""
#include <keyroute.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
        struct kr_error err;
        kr_policy_t *policy = kr_policy_from_hash("murmur2", &err);

        if (argc != 2 || !policy || strcmp(kr_version(), KR_VERSION))
                return 1;
        printf("%d\n", kr_rule_partition(kr_policy_rule(policy, "orders"), argv[1], strlen(argv[1]), 15));
        kr_policy_free(policy);
        return 0;
}
"""


def make(*args):
    return run("make", "-C", ROOT, "--no-print-directory", f"BUILD={BUILD}", f"PREFIX={PREFIX}", *args)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The tree below DESTDIR/PREFIX, and what `make install` said."""
    destdir = tmp_path_factory.mktemp("install")
    said = make("install", f"DESTDIR={destdir}").ok().out
    yield destdir, said
    make("uninstall", f"DESTDIR={destdir}").ok()
    assert [str(p) for p in destdir.rglob("*") if not p.is_dir()] == []


def pkg_config(destdir, *args):
    root = f"{destdir}{PREFIX}"
    env = {"PKG_CONFIG_LIBDIR": f"{root}/lib/pkgconfig:/usr/lib/x86_64-linux-gnu/pkgconfig:/usr/share/pkgconfig",
           "PKG_CONFIG_SYSROOT_DIR": destdir}
    return run("pkg-config", *args, "keyroute", env=env).ok().out.split()


def test_what_is_there_and_what_is_said(installed):
    destdir, said = installed
    root = destdir / PREFIX.lstrip("/")
    files = {str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir()}
    assert {"lib/keyroute.so", "lib/libkeyroute.a", "lib/libkeyroute.so", "lib/libkeyroute.so.0",
            "lib/pkgconfig/keyroute.pc", "include/keyroute.h", "include/keyroute-rdkafka.h", "bin/repartition",
            "share/man/man1/repartition.1", "share/bash-completion/completions/repartition",
            "share/doc/keyroute/LICENSE", "share/doc/keyroute/capacity.md"} <= files
    assert f"plugin.library.paths={PREFIX}/lib/keyroute.so\n" in said
    assert "plugin.library.paths=keyroute\n" in said and f"LD_LIBRARY_PATH={PREFIX}/lib" in said
    assert run(root / "bin/repartition", "route", "--partitions", 15, "TT0124").ok().out == "TT0124\t10\n"


def test_pkg_config_knows_the_plugin(installed):
    destdir, _ = installed
    assert pkg_config(destdir, "--variable=plugin") == [f"{destdir}{PREFIX}/lib/keyroute.so"]
    assert f"\nprefix={PREFIX}\n" in "\n" + (destdir / PREFIX.lstrip("/") / "lib/pkgconfig/keyroute.pc").read_text()
    assert pkg_config(destdir, "--modversion")[0] == \
        run(BUILD / "repartition", "--version").ok().out.split()[1]


@pytest.mark.parametrize("kind", ["shared", "static"])
def test_a_program_links_it(installed, tmp_path, kind):
    destdir, _ = installed
    need_command("pkg-config")
    (tmp_path / "program.c").write_text(PROGRAM)
    flags = pkg_config(destdir, "--cflags", "--libs", *(["--static"] if kind == "static" else []))
    if kind == "static":  # our archive, the system's shared jansson and zlib
        flags = ["-l:libkeyroute.a" if flag == "-lkeyroute" else flag for flag in flags]
    run("cc", "-std=c11", "-Wall", "-Werror", "-o", tmp_path / "program", tmp_path / "program.c", *flags).ok()
    env = {"LD_LIBRARY_PATH": f"{destdir}{PREFIX}/lib" if kind == "shared" else None}
    assert run(tmp_path / "program", "TT0124", env=env).ok().out == "10\n"
    needed = run("readelf", "-d", tmp_path / "program").ok().out
    assert ("libkeyroute.so.0" in needed) == (kind == "shared")


def test_a_relative_prefix_is_refused(tmp_path):
    done = make("install", f"DESTDIR={tmp_path}", "PREFIX=usr")
    assert done.rc != 0 and 'PREFIX must be an absolute path, not "usr"' in done.err
    assert list(tmp_path.iterdir()) == []
