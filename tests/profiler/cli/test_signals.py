"""Signals from other processes and from a terminal."""

import os
import pty
import re
import signal
import socket
import subprocess
import time
import unittest

import cli


class WhileNamesAreAskedFor(cli.Case):

    def test_ctrl_c_leaves_a_silent_server_and_keeps_the_profile(self):
        subprocess.run(["strip", "-o", "bare", cli.ACT], cwd=self.dir,
                       check=True)
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        server.settimeout(cli.TIMEOUT_SECONDS)
        port = server.getsockname()[1]
        tool = subprocess.Popen(
            [cli.UNSPOOL, "record", "--", "./bare", "spin", "200"],
            cwd=self.dir, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, env={**os.environ,
                            "DEBUGINFOD_URLS": f"http://127.0.0.1:{port}",
                            "DEBUGINFOD_CACHE_PATH": str(self.dir / "cache"),
                            "DEBUGINFOD_TIMEOUT": "3600",
                            "no_proxy": "127.0.0.1"})
        self.addCleanup(tool.kill)
        connection, _ = server.accept()
        self.addCleanup(connection.close)
        tool.send_signal(signal.SIGINT)
        _, err = tool.communicate(timeout=cli.TIMEOUT_SECONDS)
        self.assertEqual(tool.returncode, 0, err)
        self.assertNotIn("names are missing", err)
        self.assertGreater(self.load().total("cpu"), 1e8)


class FromProcesses(cli.Case):

    def start(self, *command):
        """The tool, once the program has said "ready"."""
        tool = subprocess.Popen(
            [cli.UNSPOOL, "record", "--", *command], cwd=self.dir,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(tool.kill)
        self.assertEqual(tool.stdout.readline(), "ready\n")
        return tool

    def test_what_the_tool_is_sent_reaches_the_program_once(self):
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT,
                       signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2,
                       signal.SIGPIPE, signal.SIGALRM, signal.SIGVTALRM,
                       signal.SIGPROF, signal.SIGXCPU, signal.SIGXFSZ,
                       signal.SIGIO, signal.SIGPWR, signal.SIGURG,
                       signal.SIGRTMIN, signal.SIGRTMAX):
            with self.subTest(number):
                tool = self.start(cli.ACT, "count", str(int(number)), "300")
                tool.send_signal(number)
                out, err = tool.communicate(timeout=cli.TIMEOUT_SECONDS)
                self.assertEqual((tool.returncode, out), (0, "1\n"), err)
                self.assertIn("unspool report", err)

    def test_a_program_that_dies_of_it_leaves_its_profile(self):
        tool = self.start(cli.ACT, "spin", "300", "say", "ready", "sleep",
                          "30000")
        tool.terminate()
        _, err = tool.communicate(timeout=cli.TIMEOUT_SECONDS)
        self.assertEqual(tool.returncode, 143, err)
        self.assertAlmostEqual(self.cpu_seconds("Spin"), 0.3, delta=0.1)

    def test_where_the_tool_is_killed_the_program_writes_the_profile(self):
        tool = self.start(cli.ACT, "spin", "300", "say", "ready", "sleep",
                          "800", "spin", "200", "say", "done")
        tool.kill()
        tool.wait(timeout=cli.TIMEOUT_SECONDS)
        self.check_written_by_the_program(tool)

    def test_nobody_need_have_waited_for_the_tool_that_was_killed(self):
        tool = self.start(cli.ACT, "spin", "300", "say", "ready", "sleep",
                          "800", "spin", "200", "say", "done")
        tool.kill()
        # A zombie, until the pipes are at their end.
        self.check_written_by_the_program(tool)

    def check_written_by_the_program(self, tool):
        out, err = tool.communicate(timeout=cli.TIMEOUT_SECONDS)
        self.assertEqual(out, "done\n")
        self.assertRegex(err, r"\Aunspool: unspool record was killed; the "
                         r"program itself wrote its profile: "
                         r"\S+/profile\.pb\.gz\n\Z")
        self.assertAlmostEqual(sum(sample.values[1]
                                   for sample in self.load().samples),
                               500e6, delta=50e6)


class FromTerminal(cli.Case):

    def start(self, *command):
        """The tool as a shell starts a foreground job. Returns its pid and the
        terminal, once the program has said "ready"."""
        leader, terminal = pty.fork()
        if leader == 0:
            self.lead(command)
        self.addCleanup(os.close, terminal)
        self.addCleanup(self.end, leader)
        text = b""
        while b"ready\r\n" not in text:
            text += os.read(terminal, 4096)
        return int(text.split()[0]), terminal, leader

    def lead(self, command):
        """Session leader: starts the job in a group of its own, says how it
        stops and ends."""
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(0, os.getpid())
            print(os.getpid(), flush=True)
            os.chdir(self.dir)
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            os.execv(cli.UNSPOOL, ["unspool", "record", "--", *command])
        while True:
            _, status = os.waitpid(job, os.WUNTRACED)
            if os.WIFSTOPPED(status):
                print("stopped", flush=True)
                continue
            print("status", os.waitstatus_to_exitcode(status), flush=True)
            os._exit(0)

    def end(self, leader):
        try:
            os.kill(leader, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(leader, 0)

    def read_until(self, terminal, pattern):
        text = ""
        while not re.search(pattern, text):
            text += os.read(terminal, 4096).decode()
        return text

    def test_control_c_reaches_the_program_once(self):
        _, terminal, _ = self.start(cli.ACT, "count", "2", "800")
        os.write(terminal, b"\x03")
        text = self.read_until(terminal, r"status \d+\r\n")
        self.assertRegex(text, r"\^C1\r\n")
        self.assertIn("unspool report", text)
        self.assertIn("status 0", text)

    def test_control_z_stops_the_job_and_it_goes_on(self):
        job, terminal, _ = self.start(cli.ACT, "count", "10", "300", "say",
                                      "on")
        os.write(terminal, b"\x1a")
        self.read_until(terminal, r"stopped\r\n")
        os.killpg(job, signal.SIGCONT)
        text = self.read_until(terminal, r"status \d+\r\n")
        self.assertIn("on\r\n", text)
        self.assertIn("status 0", text)

    def test_stopping_the_tool_alone_stops_the_program_with_it(self):
        job, terminal, _ = self.start(cli.ACT, "count", "10", "300", "say",
                                      "on")
        os.kill(job, signal.SIGTSTP)
        self.read_until(terminal, r"stopped\r\n")
        os.kill(job, signal.SIGCONT)
        text = self.read_until(terminal, r"status \d+\r\n")
        self.assertIn("on\r\n", text)


class WhileTheOutputIsTried(cli.Case):
    """Whether the output can be written is tried with a file that goes again."""

    def test_nothing_is_left_behind(self):
        run = self.record(cli.ACT, "spin", "20", flags=["-o", "p.pb.gz"])
        self.assertEqual(run.returncode, 0, run.stderr)
        for command in (["export", "p.pb.gz", "-o", "out/a.html"],
                        ["merge", "p.pb.gz", "-o", "out/a.pb.gz"],
                        ["record", "-o", "out/a.pb.gz", "--", cli.ACT]):
            with self.subTest(command):
                folder = self.dir / "out"
                folder.mkdir(exist_ok=True)
                # So the file is there, and the tool not told yet, when the
                # signal comes. -D: the tracer is not the tool's parent.
                tool = subprocess.Popen(
                    ["strace", "-D", "-qq", "-o", "/dev/null", "-e",
                     "inject=openat:delay_exit=50ms", cli.UNSPOOL, *command],
                    cwd=self.dir, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL)
                while tool.poll() is None and not any(folder.iterdir()):
                    time.sleep(0.001)
                self.assertIsNone(tool.poll(), "no file was tried")
                tool.send_signal(signal.SIGINT)
                tool.wait(timeout=60)
                self.assertEqual([path.name for path in folder.iterdir()
                                  if ".tmp" in path.name], [])


if __name__ == "__main__":
    unittest.main()
