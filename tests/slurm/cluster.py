"""A real SLURM of one node in a folder of its own: `python -m tests.slurm.cluster start FOLDER`, `stop FOLDER`.

Five daemons (munged, mariadbd, slurmdbd, slurmctld, slurmd) run as the user who starts them, with configuration, keys,
state, logs and sockets in the folder, on ports of their own: nothing of a SLURM that may be installed here is touched.
Accounting is not optional: submitit learns from `sacct` that a job died, and without it waits for ever.
The node has two GPUs that are none: SLURM hands them out and sets CUDA_VISIBLE_DEVICES, which is all that is tested.
"""

import contextlib
import getpass
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PROGRAMS = ("munged", "mariadbd", "mariadb-install-db", "mariadb-admin", "slurmdbd", "slurmctld", "slurmd", "sbatch")
# Debian keeps daemons where only root looks for programs.
SEARCH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
DAEMONS = ("slurmd", "slurmctld", "slurmdbd", "mariadbd", "munged")

SLURM_CONF = """\
ClusterName=benchmark-app-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld_port}
SlurmdPort={slurmd_port}
AuthType=auth/munge
# A job that is queued again waits as long as a credential lasts, two minutes if nothing is said.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
AccountingStorageTRES=gres/gpu
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd_port}
AccountingStoragePass={folder}/munge.socket
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
SlurmdTimeout=5
KillWait=5
MinJobAge=300
# Four jobs at once, however many cores there are: the runs of these tests compute nothing.
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 Boards=1 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=1 \
RealMemory={memory} Gres=gpu:2 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP PriorityTier=1 OverSubscribe=NO
PartitionName=urgent Nodes={host} MaxTime=INFINITE State=UP PriorityTier=2 OverSubscribe=NO
"""

SLURMDBD_CONF = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={dbd_port}
SlurmUser={user}
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={sql_port}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
"""


def missing():
    """The programs a cluster needs and this machine lacks."""
    return [name for name in PROGRAMS if shutil.which(name, path=SEARCH) is None]


class Cluster:
    """The daemons that live in one folder."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self._children = {}

    @property
    def environment(self):
        """Variables with which SLURM's commands talk to this cluster."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": SEARCH}

    def start(self):
        """Start everything and wait until the node takes jobs."""
        if lacking := missing():
            raise SystemExit(f"no SLURM can be started here: {', '.join(lacking)} not installed")
        for name in ("state", "spool", "sql"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self._configure()
        self._start_munge()
        self._start_database()
        self._daemon("slurmdbd", "-D", "-s")
        self._wait("slurmdbd", lambda: _listens(self._ports["dbd_port"]))
        self._daemon("slurmctld", "-D")
        self.start_node()

    def start_node(self):
        """Start the node's daemon and wait until it takes jobs."""
        self._daemon("slurmd", "-D")
        self._wait("slurmd", lambda: "idle" in self.command("sinfo", "-h", "-o", "%T").split())

    def stop(self):
        """End every daemon and every job, and wait until they are gone."""
        with contextlib.suppress(subprocess.SubprocessError, OSError):
            self.command("scancel", "--user", getpass.getuser(), "--state=RUNNING,PENDING", timeout=10)
            deadline = time.monotonic() + 10
            while self.command("squeue", "-h") and time.monotonic() < deadline:
                time.sleep(0.2)
        for name in DAEMONS:
            self.end(name, signal.SIGTERM)

    def end(self, name, number):
        """Send a daemon a signal that ends it, and wait for its end; it is killed where that takes too long."""
        pid = self.pid(name)
        while pid is not None and self.pid(name) == pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            deadline = time.monotonic() + 10
            while self.pid(name) == pid and time.monotonic() < deadline:
                time.sleep(0.05)
            number = signal.SIGKILL
        if (child := self._children.pop(name, None)) is not None:
            child.wait()

    def pid(self, name):
        """Process id of a daemon; None where it does not run."""
        try:
            pid = int((self.folder / f"{name}.started").read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return None
        return pid if name.encode() in command else None

    def command(self, *command, timeout=30):
        """Output of one of SLURM's commands."""
        environment = {**os.environ, **self.environment}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
        return done.stdout.strip()

    def _configure(self):
        names = ("ctld_port", "slurmd_port", "dbd_port", "sql_port")
        self._ports = dict(zip(names, _free_ports(len(names)), strict=True))
        memory = int(re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())[1]) // 1024
        values = {
            "host": socket.gethostname().partition(".")[0],
            "user": getpass.getuser(),
            "folder": self.folder,
            "memory": memory * 8 // 10,
            **self._ports,
        }
        # Two devices every Linux has stand for GPUs: making device files of our own would take root.
        gres = "NodeName={host} Name=gpu File=/dev/null\nNodeName={host} Name=gpu File=/dev/zero\n"
        for name, text in (("slurm.conf", SLURM_CONF), ("slurmdbd.conf", SLURMDBD_CONF), ("gres.conf", gres)):
            path = self.folder / name
            path.touch(mode=0o600)  # slurmdbd refuses a password that others may read
            path.write_text(text.format(**values))

    def _start_munge(self):
        key = self.folder / "munge.key"
        if not key.exists():
            key.touch(mode=0o600)
            key.write_bytes(os.urandom(128))
        # --force: the folder may lie below one that others write to, such as /tmp.
        own = {name: f"{self.folder}/munge.{name}" for name in ("socket", "pid", "seed", "log")}
        self._daemon(
            "munged",
            *("--foreground", "--force", f"--key-file={key}", f"--socket={own['socket']}"),
            *(f"--pid-file={own['pid']}", f"--seed-file={own['seed']}", f"--log-file={own['log']}"),
        )
        self._wait("munged", Path(own["socket"]).exists)

    def _start_database(self):
        data, user, connection = self.folder / "sql", getpass.getuser(), self.folder / "sql.socket"
        own = ("--no-defaults", f"--datadir={data}", f"--user={user}")
        if not (data / "mysql").exists():
            install = ["mariadb-install-db", *own, "--auth-root-authentication-method=normal", "--skip-test-db"]
            with (self.folder / "mariadb-install-db.out").open("wb") as output:
                environment = {**os.environ, "PATH": SEARCH}
                subprocess.run(install, check=True, stdout=output, stderr=subprocess.STDOUT, env=environment)
        first = self.folder / "first.sql"
        first.write_text(
            "CREATE DATABASE IF NOT EXISTS slurm;\n"
            "CREATE USER IF NOT EXISTS slurm@'127.0.0.1' IDENTIFIED BY 'slurm';\n"
            "GRANT ALL ON slurm.* TO slurm@'127.0.0.1';\n"
        )
        self._daemon(
            "mariadbd",
            *own,
            *(f"--socket={connection}", f"--port={self._ports['sql_port']}", "--bind-address=127.0.0.1"),
            *("--skip-name-resolve", f"--init-file={first}", f"--pid-file={self.folder}/sql.pid"),
            *("--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=0"),
        )
        self._wait("mariadbd", lambda: _listens(self._ports["sql_port"]))

    def _daemon(self, name, *arguments):
        """Start a daemon that outlives this process, and note its process id."""
        with (self.folder / f"{name}.out").open("ab") as output:
            process = subprocess.Popen(
                [shutil.which(name, path=SEARCH), *arguments],
                cwd=self.folder,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._children[name] = process
        (self.folder / f"{name}.started").write_text(str(process.pid))

    def _wait(self, name, ready, seconds=60):
        """Wait until a daemon serves."""
        deadline = time.monotonic() + seconds
        while not ready():
            time.sleep(0.1)
            if self.pid(name) is None or time.monotonic() > deadline:
                output = (self.folder / f"{name}.out").read_text(errors="replace").splitlines()
                raise SystemExit("\n".join([f"{name} does not start:", *output[-5:]]))


def _free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["start", folder]:
            cluster = Cluster(folder)
            cluster.start()
            print(f"export SLURM_CONF={cluster.environment['SLURM_CONF']}")
        case ["stop", folder]:
            Cluster(folder).stop()
        case _:
            raise SystemExit("usage: cluster.py start|stop FOLDER")
