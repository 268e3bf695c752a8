"""`python -m worker.supervisor`: take the data folder and the port, start everything, keep it up, stop it."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from worker import gpus, leash
from worker.supervisor import children, port, probes, valkey
from worker.supervisor.children import Child, say
from worker.supervisor.data_folder import DataFolder, Taken, default_folder, folder

MODULE = (sys.executable, "-P", "-m")
GRACE = 3.0  # s; the broker is stopped after the others, and all within five seconds
UNTIL_READY = 300.0  # s; on a crowded machine a web process alone takes more than a minute


def read_arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./drafthouse up", description="Start Drafthouse: broker, pages, scheduler, workers. Ctrl-C stops it all."
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on; 127.0.0.1 is this machine alone")
    parser.add_argument("--port", type=int, default=port.DEFAULT, help="0 takes the first free one from %(default)s on")
    parser.add_argument("--data", type=Path, default=default_folder(), help="where everything is kept (%(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="how many workers for the queue `cpu` (%(default)s)")
    parser.add_argument("--demo", action="store_true", help="launch a comparison of the starter pair to look at")
    asked = parser.parse_args(argv)
    if asked.workers < 0:
        parser.error("--workers is 0 or more")
    if not 0 <= asked.port < 65536:
        parser.error("--port is 0 to 65535")
    return asked


class Supervisor:
    def __init__(
        self,
        listener: socket.socket,
        data: DataFolder,
        broker: valkey.Broker,
        cpu_workers: int,
        demo: bool,
    ) -> None:
        self.data = data
        self.listener = listener
        host, number = listener.getsockname()[:2]
        seen_as = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        self.address = f"http://{seen_as}:{number}"
        self.broker = [broker_of(broker)] if broker.command else []
        workers = [
            *(worker("cpu", number) for number in range(1, cpu_workers + 1)),
            *(worker("gpu", number, [name]) for number, name in enumerate(gpus.listed(), 1)),
        ]
        self.others = [
            Child(
                "web",
                [*MODULE, "worker.supervisor.web", str(listener.fileno())],
                pass_fds=(listener.fileno(),),
                probe=probes.of_web(self.address),
            ),
            Child("scheduler", [*MODULE, "worker.scheduler"]),
            *workers,
            *([worker("light", 1)] if workers else []),
        ]
        self.demo = demo
        self.stop_asked = 0

    def run(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)
        for child in self.broker:
            child.start()
        try:
            link = prepare(self.demo)
            for child in self.others:
                child.start()
            self._wait_for_pages()
            if not self.stop_asked:
                self.data.tell(self.address)
                say("up", f"Drafthouse is at {self.address}")
                say("up", f"Sign in, once and within half an hour: {self.address}{link}")
                say("up", "Ctrl-C stops everything.")
            while not self.stop_asked:
                self._tend()
        except Taken:
            if not self.stop_asked:  # else it is Ctrl-C that ended the preparations
                raise
        finally:
            self._stop()

    def _tend(self) -> None:
        for child in (*self.broker, *self.others):
            child.tend()
        time.sleep(0.1)

    def _wait_for_pages(self) -> None:
        deadline = time.monotonic() + UNTIL_READY
        while not self.stop_asked and probes.status_of(f"{self.address}/healthz", 1) != 200:
            if time.monotonic() > deadline:
                raise Taken(f"The pages did not answer within {UNTIL_READY:.0f} s; the lines above say why.")
            self._tend()

    def _stop(self) -> None:
        say("up", "Stopping.")
        children.stop(self.others, 0 if self.stop_asked > 1 else GRACE)
        children.stop(self.broker, 1.0)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.stop_asked += 1
        if self.stop_asked > 1:
            for child in self.others:
                child.signal(signal.SIGKILL)


def broker_of(broker: valkey.Broker) -> Child:
    assert broker.command is not None and broker.socket is not None
    return Child("valkey", broker.command, log=broker.log, probe=probes.of_broker(broker.socket))


def worker(queue: str, number: int, gpus: Sequence[str] = ()) -> Child:
    name = f"{queue}-{number}"
    command = [*MODULE, "worker", "--queue", queue, "--name", f"{name}@{socket.gethostname()}"]
    # Counted as the driver's tool counts them, which is not CUDA's own way.
    env = {"CUDA_VISIBLE_DEVICES": ",".join(gpus), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return Child(name, command, env=env)


def prepare(demo: bool) -> str:
    """The path of a sign-in link, once database and files are ready."""
    done = subprocess.run(
        [*MODULE, "worker.supervisor.prepare", "--link", *["--demo"] * demo],
        env=leash.held(),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Taken("The data folder could not be made ready; the lines above say why.")
    return done.stdout.split()[-1]


def set_environment(data: Path, host: str, broker: valkey.Broker) -> None:
    """Set the variables that every child reads its settings from."""
    os.environ["DRAFTHOUSE_DATA"] = str(data)
    if broker.command:
        os.environ["REDIS_URL"] = broker.url
    if host not in ("127.0.0.1", "localhost", "::1"):
        mine = socket.gethostname() if host in ("0.0.0.0", "::") else host
        os.environ.setdefault("DRAFTHOUSE_HOSTS", f"localhost,127.0.0.1,[::1],{mine}")


def main(argv: Sequence[str]) -> int:
    asked = read_arguments(argv)
    try:
        data = DataFolder(folder(asked.data))
        if data.was_open:
            say("up", f"Other users could read {data.path}; from now on only you can.")
        listener = port.listen(asked.host, asked.port)
        broker = valkey.broker(data.path)
        set_environment(data.path, asked.host, broker)
        Supervisor(listener, data, broker, asked.workers, asked.demo).run()
    except (Taken, valkey.NoBroker) as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
