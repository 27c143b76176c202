"""What the tests of plumb-serve share: a server, a recorded process, and checks."""

import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

import grpc

PLUMB = os.environ["TEST_BIN"]
LONG_S = 60  # more than anything here takes on a busy machine


class Server:
    """plumb serve, on a free port of loopback unless the options say otherwise."""

    def __init__(self, *options, env=None, listen=("127.0.0.1:0",)):
        words = [f"--listen={a}" for a in listen] + list(options)
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log")
        self.process = subprocess.Popen([PLUMB, "serve", *words], stderr=self.log,
                                        stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        self.ports = []
        end = time.monotonic() + LONG_S
        while len(self.ports) < len(listen):
            self.ports = re.findall(r"gRPC on (\S+?)(?:,|$)", self.text(), re.M)
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the server did not start: {self.text()}")
            time.sleep(0.02)
        self.address = self.ports[0]

    def text(self):
        with open(self.log.name) as file:
            return file.read()

    def wait_log(self, pattern):
        end = time.monotonic() + LONG_S
        while not re.search(pattern, self.text()):
            if time.monotonic() > end:
                raise RuntimeError(f"no {pattern!r} in the log: {self.text()}")
            time.sleep(0.02)

    def stop(self, number=signal.SIGTERM):
        """Ends the server and returns its status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(LONG_S)
        if "ThreadSanitizer" in self.text() or "AddressSanitizer" in self.text():
            print(self.text())
            raise AssertionError("a sanitizer has found something in the server")
        return status

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            print(self.text())
        status = self.stop()
        if not kind:
            assert status in (0, -signal.SIGKILL), f"the server ended with {status}:\n{self.text()}"


class Host:
    """tests/serve/_host.c, built by the script as ./host. One question, one answer of lines."""

    def __init__(self, name="./host", **env):
        self.process = subprocess.Popen([name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, "PLUMB_CONTROL": "1", "PLUMB_QUIET": "1", **env})
        self.pid = self.process.pid
        self.id = str(self.pid)
        assert self.process.stdout.readline() == "ready\n"
        wait_listening(self.pid)

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        answer = []
        while (line := self.process.stdout.readline()) != ".\n":
            assert line, f"the host ended at '{question}'"
            answer.append(line.rstrip("\n"))
        return answer

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.stdin.close()
        status = self.process.wait(LONG_S)
        if not kind:
            assert status in (0, -signal.SIGKILL), f"the host ended with {status}"


def wait_listening(pid):
    """A process makes itself known from another thread: waits until its socket takes connections."""
    folder = os.path.join(os.environ["XDG_RUNTIME_DIR"], "plumb")
    end = time.monotonic() + LONG_S
    while time.monotonic() < end:
        names = os.listdir(folder) if os.path.isdir(folder) else []
        for name in names:
            with socket.socket(socket.AF_UNIX) as probe:
                if name.startswith(f"{pid}.") and probe.connect_ex(os.path.join(folder, name)) == 0:
                    return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} does not listen")


def pause(pid):
    """Stops a process with SIGSTOP, and waits until each of its threads has stopped."""
    os.kill(pid, signal.SIGSTOP)
    end = time.monotonic() + LONG_S
    while time.monotonic() < end:
        states = []
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat", encoding="utf-8", errors="replace") as stat:
                states.append(stat.read().rpartition(")")[2].split()[0])
        if set(states) <= {"T", "t"}:
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} does not stop")


def channel(server, index=0, **options):
    address = server.ports[index]
    return grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)], **options)


def refused(code, text, call, *args, **kw):
    """The call fails with this status, or one of these, and a text that has `text`; returns the text."""
    kw.setdefault("timeout", LONG_S)
    try:
        answer = call(*args, **kw)
        if hasattr(answer, "__next__"):
            answer = list(answer)
    except grpc.RpcError as error:
        assert error.code() in (code if isinstance(code, tuple) else (code,)), f"{error.code()} instead of {code}: {error.details()}"
        assert text in error.details(), f"'{text}' is not in '{error.details()}'"
        return error.details()
    raise AssertionError(f"not refused: {answer}")


def in_threads(count, work):
    """Runs work(i) in `count` threads, and raises what one of them raised."""
    failures = []

    def run(i):
        try:
            work(i)
        except BaseException as error:  # noqa: the first is raised below
            failures.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
