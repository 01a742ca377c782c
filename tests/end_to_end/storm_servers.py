"""The servers of scripts/soak: real ones, in a folder of their own, on loopback
or Unix sockets, as an ordinary user, under a load that ends by itself."""

import os
import re
import signal
import socket
import subprocess
import time

START_SECONDS = 30


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def await_socket(path_or_port, process):
    """Returns once somebody listens there; RuntimeError if that never comes."""
    is_port = isinstance(path_or_port, int)
    family = socket.AF_INET if is_port else socket.AF_UNIX
    address = ("127.0.0.1", path_or_port) if is_port else path_or_port
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with socket.socket(family) as probe:
            if probe.connect_ex(address) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nobody listens at {path_or_port}")


class Server:
    """What a storm needs of a server. `prefix` runs a command as the user that
    the server runs as; `directory` is that user's."""

    stop_signal = signal.SIGTERM
    # CPU time of each process that it forks before the agent's part of fork()
    # is done and after the agent's end: of large processes more, and where each
    # writes a profile of its own.
    process_ns = {"record": 2_000_000, "preload": 4_000_000}

    def __init__(self, directory, prefix):
        self.directory, self.prefix = directory, prefix
        self.last_words = ""  # of a client that failed

    def prepare(self):
        """What must be there before the server starts; not profiled."""

    def client(self, argv, seconds):
        """stdout and stderr of a load; it ends by itself."""
        result = subprocess.run([*self.prefix, *argv], capture_output=True,
                                text=True, timeout=seconds + 60,
                                cwd=self.directory)
        text = result.stdout + result.stderr
        if result.returncode != 0:
            text += "\nfailed"
            self.last_words = text[-300:]
        return text


class Redis(Server):
    packages = "redis-server, redis-tools"

    def __init__(self, directory, prefix):
        super().__init__(directory, prefix)
        self.place = os.path.join(directory, "redis.sock")
        self.argv = ["redis-server", "--port", "0", "--unixsocket", self.place,
                     "--save", "", "--appendonly", "no", "--dir", directory,
                     "--io-threads", "2"]

    def load(self, seconds, process):
        """(requests, errors, processes that were started) in about that many
        seconds."""
        requests = errors = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end and process.poll() is None:
            text = self.client(["redis-benchmark", "-s", self.place, "-q",
                                "-n", "40000", "-c", "20", "-P", "4", "-t",
                                "set,get,lpush,lrange_100,mset"], 60)
            requests += 5 * 40000
            errors += len(re.findall(r"(?i)error|failed", text))
        return requests, errors, 0


class Nginx(Server):
    packages = "nginx-light, wrk"
    stop_signal = signal.SIGQUIT  # finishes what is under way

    CONFIGURATION = """
        daemon off;
        worker_processes 2;
        pid {directory}/nginx.pid;
        error_log {directory}/error.log;
        events {{ worker_connections 256; }}
        http {{
          access_log {directory}/access.log;
          client_body_temp_path {directory}/body;
          proxy_temp_path {directory}/proxy;
          fastcgi_temp_path {directory}/fastcgi;
          uwsgi_temp_path {directory}/uwsgi;
          scgi_temp_path {directory}/scgi;
          gzip on; gzip_min_length 1; gzip_types text/plain;
          server {{
            listen 127.0.0.1:{port};
            root {directory}/www;
            default_type text/plain;
          }}
        }}
    """

    def __init__(self, directory, prefix):
        super().__init__(directory, prefix)
        self.place = free_port()
        self.argv = ["/usr/sbin/nginx", "-p", directory, "-e", "stderr", "-c",
                     os.path.join(directory, "nginx.conf")]

    def prepare(self):
        os.mkdir(os.path.join(self.directory, "www"))
        os.chmod(os.path.join(self.directory, "www"), 0o755)
        for name, text in (
                ("nginx.conf", self.CONFIGURATION.format(
                    directory=self.directory, port=self.place)),
                ("www/page", "".join(f"{i} " for i in range(3000)))):
            path = os.path.join(self.directory, name)
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, 0o644)

    def load(self, seconds, process):
        """A new generation of workers every two seconds, under load."""
        requests = errors = workers = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end and process.poll() is None:
            text = self.reload_under_load(process)
            workers += 2
            match = re.search(r"(\d+) requests in", text)
            requests += int(match[1]) if match else 0
            errors += not match
            for count in re.findall(r"Non-2xx or 3xx responses: (\d+)", text):
                errors += int(count)
        return requests, errors, workers

    def reload_under_load(self, process):
        with subprocess.Popen(
                [*self.prefix, "wrk", "-t1", "-c8", "-d2s", "-H",
                 "Accept-Encoding: gzip",
                 f"http://127.0.0.1:{self.place}/page"],
                stdout=subprocess.PIPE, text=True) as wrk:
            time.sleep(1)
            process.send_signal(signal.SIGHUP)
            return wrk.communicate(timeout=60)[0]


class Postgres(Server):
    packages = "postgresql"
    stop_signal = signal.SIGINT  # a "fast" shutdown

    def __init__(self, directory, prefix):
        super().__init__(directory, prefix)
        self.bin = sorted(
            path.path for path in os.scandir("/usr/lib/postgresql"))[-1] + "/bin"
        self.data = os.path.join(directory, "data")
        self.place = os.path.join(directory, ".s.PGSQL.5432")
        self.argv = [f"{self.bin}/postgres", "-D", self.data, "-k", directory,
                     "-c", "listen_addresses=", "-c", "fsync=off", "-c",
                     "max_connections=20", "-c", "shared_buffers=32MB"]
        self.is_filled = False

    def prepare(self):
        subprocess.run([*self.prefix, f"{self.bin}/initdb", "-D", self.data,
                        "-U", "soak", "-A", "trust", "--no-sync"], check=True,
                       capture_output=True, timeout=120, cwd=self.directory)

    def load(self, seconds, process):
        bench = [f"{self.bin}/pgbench", "-h", self.directory, "-U", "soak"]
        text = ""
        self._await_database()
        if not self.is_filled:
            text = self.client([*bench, "-i", "-s", "2", "-q", "postgres"], 60)
            self.is_filled = True
        # -C: a backend per transaction for one of the two loads.
        half = max(1, int(seconds / 2))
        text += self.client([*bench, "-c", "4", "-T", str(half), "postgres"],
                            half)
        text += self.client([*bench, "-c", "2", "-C", "-S", "-T", str(half),
                             "postgres"], half)
        done = re.findall(r"transactions actually processed: (\d+)", text)
        failed = re.findall(r"failed transactions: (\d+)", text)
        return (sum(map(int, done)), sum(map(int, failed)) + (len(done) != 2) +
                text.count("failed\n"), int(done[-1]) if done else 0)

    def _await_database(self):
        """It takes connections before it takes commands."""
        for _ in range(600):
            if subprocess.run([*self.prefix, f"{self.bin}/pg_isready", "-q", "-h",
                               self.directory], cwd=self.directory,
                              timeout=60).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError("postgres never became ready")


SERVERS = {"redis": Redis, "nginx": Nginx, "postgres": Postgres}
