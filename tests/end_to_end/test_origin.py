"""Names that depend on the process: its files were replaced or deleted, lie in
another mount namespace or below another root, or it was started in a way that
hides which program it is."""

import os
import shutil
import unittest

import harness
import origin

LOADER = "/lib64/ld-linux-x86-64.so.2"
# Long enough for whatever happens meanwhile; spent by CPU time.
SECONDS = "2"


class SY04ReplacedFilesTest(origin.Case):
    """A package was upgraded under the running program, or removed."""

    def replace(self):
        other = self.copy_layout("layout_lld", "other")
        for file in os.listdir(other):
            os.rename(os.path.join(other, file), os.path.join(self.app, file))

    def delete(self):
        shutil.rmtree(self.app)

    def when_kept(self, act):
        """`act`, once the tool has opened the program and its library."""
        wanted = {self.main, os.path.join(self.app, "libfoo.so")}

        def wait(tool):
            self.await_true(lambda: wanted <= set(origin.opened_by(tool)),
                            "the tool did not open them")
            act()
        return wait

    def test_recorded(self):
        for act in (self.replace, self.delete):
            with self.subTest(act.__name__):
                self.check(self.record_while([self.main, SECONDS],
                                             self.when_kept(act)))

    def test_recorded_as_another_user(self):
        for name, prefix in harness.identities():
            unspool, _ = harness.copy_product(os.path.join(self.dir, name))
            with self.subTest(name):
                self.check(self.record_while(
                    [self.main, SECONDS], self.when_kept(self.delete),
                    prefix=prefix, unspool=unspool))
            os.unlink(os.path.join(self.dir, "while.pb.gz"))
            self.app = self.copy_layout("layout_bfd", "app")

    def test_preloaded_and_named_later(self):
        # Nobody keeps the files: what is there now is not what was recorded.
        path = os.path.join(self.dir, "preload.pb.gz")
        process = self.start([self.main, SECONDS], LD_PRELOAD=harness.AGENT,
                             UNSPOOL_OUTPUT=path)
        with open(f"/proc/{process.pid}/maps") as maps:
            self.await_true(lambda: "libunspool" in self.reread(maps),
                            "the agent was not loaded")
        self.replace()
        self.finish(process)
        named = os.path.join(self.dir, "named.pb.gz")
        export = self.start([harness.UNSPOOL, "export", path, "-o", named])
        _, stderr = self.finish(export)
        for file in ("foo_main", "libfoo.so"):
            self.assertIn(f"{self.app}/{file}: is not the file that was "
                          "recorded: its build id differs", stderr)
        run = harness.Run(0, "", stderr, 0, named)
        run.profile = self.load(named, run)
        names = {frame.name for sample in run.profile.samples
                 for frame in sample.frames}
        self.assertFalse(names & {"foo_hot", "main_leaf", "main"})
        self.check_paths(run)

    @staticmethod
    def reread(file):
        file.seek(0)
        return file.read()

    def test_started_from_a_file_without_a_name(self):
        # Long enough for a second look on a busy machine: one in fifty of its
        # time is all that the tool takes for looking.
        script = f"exec 3<{self.main}; rm {self.main}; exec /proc/self/fd/3 3"
        for name, run in (("record", self.record), ("preload", self.preload)):
            self.app = self.copy_layout("layout_bfd", name)
            self.main = os.path.join(self.app, "foo_main")
            ran = run(["sh", "-c", script.replace("/app/", f"/{name}/")])
            with self.subTest(name):
                if name == "record":
                    self.check(ran)
                else:
                    self.check_paths(ran)


@unittest.skipUnless(os.geteuid() == 0, "only root makes mount namespaces")
class SY15OtherRootsTest(origin.Case):
    """The program sees other files at its paths than who records it."""

    def setUp(self):
        super().setUp()
        # What is at the path for all others.
        self.over = os.path.join(self.dir, "over")
        os.mkdir(self.over)
        library = os.path.join(self.app, "libfoo.so")
        shutil.move(library, self.over)
        shutil.copy(harness.program("layout_lld/libfoo.so"), library)
        self.mount = (f"mount -t overlay overlay -o lowerdir={self.over}:"
                      f"{self.app} {self.app}")

    def inside(self, *flags):
        """The prefix of a command in new namespaces."""
        return ["unshare", *flags, "sh", "-c", self.mount + ' && exec "$@"',
                "sh"]

    def test_recorded_from_outside(self):
        self.check(self.record([*self.inside("-m"), self.main, "2"]))

    def test_recorded_from_outside_of_a_pid_namespace(self):
        # It calls itself 1; unshare(1) stays as its parent.
        self.check(self.record([*self.inside("-m", "-p", "-f"), self.main,
                                "2"]), os.path.realpath("/usr/bin/unshare"))

    def test_recorded_inside(self):
        self.check(self.record(
            [self.main, "2"],
            prefix=self.inside("-m", "-p", "-f", "--mount-proc")))

    def test_preloaded_and_named_outside(self):
        # The library there is another: its functions have no names.
        run = self.preload([self.main, "1"], prefix=self.inside("-m"))
        self.check_paths(run)
        modules = {frame.module for sample in run.profile.samples
                   for frame in sample.frames if frame.name == "foo_hot"}
        self.assertEqual(modules, set())

    def test_root_changed_after_the_start(self):
        jail = os.path.join(self.dir, "jail")
        os.mkdir(jail)
        shutil.copy(os.path.join(self.over, "libfoo.so"), jail)
        run = self.record_while(
            [harness.program("loaded_by_name"), "/libfoo.so", "2", jail],
            lambda tool: None)
        names = {name for sample in run.profile.samples
                 for name in sample.names}
        self.assertLessEqual({"foo_hot", "foo_run", "main"}, names)
        self.assertIn("/libfoo.so", [mapping.filename for mapping in
                                     run.profile.mappings.values()])
        self.assertNotIn("names are missing", run.stderr)


class OF03MainBinaryNameTest(origin.Case):
    """The first mapping is the program, by its absolute path, however it was
    started."""

    def rows(self):
        link = os.path.join(self.dir, "link")
        if not os.path.islink(link):
            os.symlink(self.main, link)
        return {
            "by PATH": ["env", f"PATH={self.app}:{os.environ['PATH']}",
                        "foo_main", "1"],
            "by a symbolic link": [link, "1"],
            "without argv[0]": ["bash", "-c", f"exec -a '' {self.main} 1"],
            "by the loader": [LOADER, self.main, "1"],
            "by the loader, relative": ["sh", "-c", f"cd {self.app}; exec "
                                        f"{LOADER} ./foo_main 1"],
            "relative": ["sh", "-c", f"cd {self.app}; exec ./foo_main 1"],
        }

    def test_record(self):
        for name, argv in self.rows().items():
            with self.subTest(name):
                self.check(self.record(argv))

    def test_preload(self):
        for name, argv in self.rows().items():
            with self.subTest(name):
                self.check(self.preload(argv))


class EC21VdsoTest(harness.Case):
    """What the kernel maps into every program is named by its own symbols."""

    def test_clock_and_processor_reads(self):
        argv = [harness.program("clock_reader"), "2"]
        for run in (self.record(argv), self.preload(argv)):
            vdso = [sample for sample in run.profile.samples
                    if sample.frames[0].module == "[vdso]"]
            for name in ("clock_gettime", "getcpu"):
                self.assert_all(
                    [sample for sample in vdso
                     if sample.names[1].endswith(name)],
                    lambda sample, name=name:
                    sample.names[0] == f"__vdso_{name}", "named")
            self.assert_all(vdso, harness.is_rooted, "rooted")
            self.assert_all(vdso, lambda sample: "main" in sample.names,
                            "called by the program")
            _, complaints = harness.pprof_table(run.path)
            self.assertEqual(complaints, "")


if __name__ == "__main__":
    unittest.main()
