"""examples/ci: its jobs do in anyone's CI what they say, and its programs conform. The steps are run as the files hold them."""

import os
import re
import shlex
import shutil
import sys
import xml.etree.ElementTree as ET

import pytest
import yaml
from support import CACHE, KAFKA_LIB, KAFKAJS_MODULES, ROOT, need_command, need_file, run

KIT = ROOT / "examples" / "ci"
REFERENCE = KIT / "reference"
GITHUB = yaml.safe_load((KIT / "github-actions.yml").read_text())
STEPS = GITHUB["jobs"]["conform"]["steps"]
GITLAB = yaml.safe_load((KIT / "gitlab-ci.yml").read_text())["keyroute"]

# A third of the time to compile; without optimization gcc sees truncations that cannot be.
QUICK = {"CFLAGS": "-O0"}
BUILD_S = 1500  # a compilation on a machine that is busy with others
pytestmark = pytest.mark.timeout(2 * BUILD_S)

# What a project sets instead of the values that stand in the files.
WRONG = {"PREPARE": "true", "PROGRAM": f"{sys.executable} wrong.py"}
WRONG_PROGRAM = """
import os, sys, zlib
for line in sys.stdin:
    print(zlib.crc32(bytes.fromhex(line.strip())) % int(os.environ["KEYROUTE_PARTITIONS"]))
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A git repository of Keyroute as it lies here, whether or not this tree is one itself. @returns its address."""
    repository = tmp_path_factory.mktemp("source") / "keyroute.git"
    run("git", "init", "-q", "--bare", "-b", "main", repository).ok()
    env = {"GIT_DIR": repository, "GIT_WORK_TREE": ROOT}
    settings = ("-c", "core.bare=false", "-c", "user.name=test", "-c", "user.email=test@localhost")
    run("git", *settings, "add", "-A", env=env, cwd=ROOT).ok()
    run("git", *settings, "commit", "-q", "-m", "As it is", env=env, cwd=ROOT).ok()
    return f"file://{repository}"


@pytest.fixture
def project(tmp_path):
    """Somebody's project, checked out by the build server: with a right program and a wrong one."""
    return make_project(tmp_path / "project")


def make_project(folder):
    shutil.copytree(REFERENCE / "c", folder / "ci")
    (folder / "wrong.py").write_text(WRONG_PROGRAM)
    return folder


def shell(script, folder, env):
    """As both build servers run one: the first command that fails ends it, in a pipe as well."""
    return run("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script, cwd=folder, env={**QUICK, **env},
               timeout=BUILD_S)


class Job:
    """How a job went: whether it failed, what its steps said, the report that it published."""

    def __init__(self):
        self.failed, self.said, self.report = False, "", None

    def run(self, script, folder, env):
        done = shell(script, folder, env)
        self.failed = done.rc != 0
        self.said += done.out + done.err

    def publish(self, path):
        self.report = ET.parse(path).getroot()[0] if path.exists() else None


def github(folder, source, values=None):
    """Runs the workflow's one job as GitHub's runner does."""
    job, summary = Job(), folder.parent / "summary.md"
    env = {**{name: str(value) for name, value in GITHUB["env"].items()}, **(values or {}), "GITHUB_STEP_SUMMARY": summary}
    assert env["KEYROUTE_SOURCE"] == "${{ vars.KEYROUTE_SOURCE }}"
    env["KEYROUTE_SOURCE"] = source
    assert GITHUB["defaults"]["run"]["shell"] == "bash"
    for step in STEPS:
        if job.failed and step.get("if") != "always()":
            continue
        if "run" in step:
            job.run(step["run"], folder, env)
        elif step["uses"].startswith("actions/upload-artifact@"):
            job.publish(folder / step["with"]["path"])
        else:
            assert step["uses"].split("@")[0] in ("actions/checkout", "actions/cache")
    if summary.exists():
        job.said += summary.read_text()
    return job


def gitlab(folder, source, values=None):
    """Runs the job as GitLab's runner does: both parts in one shell."""
    job = Job()
    env = {**{name: str(value) for name, value in GITLAB["variables"].items()}, **(values or {}), "KEYROUTE_SOURCE": source}
    job.run("\n".join(GITLAB["before_script"] + GITLAB["script"]), folder, env)
    assert GITLAB["artifacts"]["when"] == "always"
    job.publish(folder / GITLAB["artifacts"]["reports"]["junit"])
    return job


@pytest.fixture(scope="module")
def first_run(source, tmp_path_factory):
    """The job of GitHub in a project that never had it: nothing is cached. @returns the job, and what it leaves to be cached."""
    folder = make_project(tmp_path_factory.mktemp("first") / "project")
    job = github(folder, source)
    paths = [step["with"]["path"] for step in STEPS if step.get("uses", "").startswith("actions/cache@")]
    assert paths == GITLAB["cache"]["paths"] == [".keyroute"]
    return job, folder / ".keyroute"


def restore_cache(first_run, folder):
    shutil.copytree(first_run[1], folder / ".keyroute", symlinks=True)  # with its times, or all would be built again


def test_the_first_run_builds_and_passes(first_run):
    job, cached = first_run
    assert not job.failed, job.said
    assert int(job.report.get("tests")) > 800 and job.report.get("failures") == "0"
    assert "conforms; behaves as murmur2" in job.said and (cached / "build" / "repartition").exists()


@pytest.mark.parametrize("server", [github, gitlab])
def test_a_later_run_takes_the_program_from_the_cache(first_run, source, project, server):
    restore_cache(first_run, project)
    job = server(project, source)
    assert not job.failed, job.said
    assert "  CC  " not in job.said and "conforms; behaves as murmur2" in job.said
    assert int(job.report.get("tests")) > 800 and job.report.get("failures") == "0"


@pytest.mark.parametrize("server", [github, gitlab])
def test_a_wrong_program_fails_the_job_and_its_report_is_published(first_run, source, project, server):
    restore_cache(first_run, project)
    job = server(project, source, WRONG)
    assert job.failed and "behaves as crc32 with 12 partitions" in job.said, job.said
    assert int(job.report.get("failures")) == len(job.report.findall("testcase/failure")) > 700
    assert "behaves as crc32" in job.report.find("testcase/failure").get("message")


@pytest.mark.parametrize("server", [github, gitlab])
def test_values_with_quotes_and_a_policy(first_run, source, project, server):
    restore_cache(first_run, project)
    shutil.copy(ROOT / "examples" / "keyroute.json", project)
    (project / "jars").symlink_to(need_file(KAFKA_LIB, "Kafka's Java client"))
    job = server(project, source, {"JUDGE": "--policy keyroute.json --topic orders", "PREPARE": "true",
                                   "PROGRAM": f"java -cp 'jars/*' '{REFERENCE}/java/Partition.java'"})
    assert not job.failed and "java   12 partitions   judged by murmur2" in job.said, job.said


def test_both_servers_build_alike_and_say_what_is_missing(project):
    steps = {step["name"]: step["run"] for step in STEPS if "run" in step}
    names = ["Tools of the next steps", "Build repartition", "Make the program ready"]
    assert [steps[name] for name in names] == GITLAB["before_script"]
    assert {name: GITHUB["env"][name] for name in GITLAB["variables"]} == GITLAB["variables"]
    for script in (*steps.values(), "\n".join(GITLAB["script"])):
        run(need_command("shellcheck"), "-s", "bash", "-", stdin=script).ok()
    done = shell(steps["Build repartition"], project, {"KEYROUTE_SOURCE": ""})
    assert done.rc != 0 and "set it to the address of the git repository of Keyroute" in done.err


# ---- the programs to begin with ----

ROWS = re.findall(r"^\| \[`(\w+)`\]\(reference/\1\) \|.*?\| `(.*?)` \| `(.*?)` \|$", (KIT / "README.md").read_text(), re.M)


def fetched(language):
    """What PREPARE would download, and scripts/install-deps did: where it is, and where a program looks for it."""
    return {"go": (CACHE / "ci-kit" / "go" / "partition", "partition"), "java": (KAFKA_LIB, "target/dependency"),
            "node": (KAFKAJS_MODULES, "node_modules")}.get(language)


def test_every_program_has_its_row():
    assert sorted(row[0] for row in ROWS) == sorted(os.listdir(REFERENCE)) and len(ROWS) == 6


@pytest.mark.parametrize("language, prepare, program", ROWS, ids=[row[0] for row in ROWS])
def test_a_reference_program_conforms(repartition, tmp_path, language, prepare, program):
    folder = tmp_path / language
    shutil.copytree(REFERENCE / language, folder)
    if language in ("c", "rust"):
        need_command(prepare.split()[0])
        shell(prepare, folder, {}).ok()
    elif fetched(language):
        there, here = fetched(language)
        (folder / here).parent.mkdir(exist_ok=True)
        (folder / here).symlink_to(need_file(there, f"what the program in {language} asks"))
    for partitions in (12, 1000):
        found = repartition("conform", "--partitions", partitions, "--output", "json", "--", *shlex.split(program),
                            cwd=folder).ok().json()
        assert found["conforms"] and found["keys"] > 800 and found["partitions"] == partitions
