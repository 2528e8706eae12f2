"""What `serve` and `execution=served` refuse, in one line and before anything is started."""

import os
import re
import signal
import subprocess
import sys

import pytest

from benchmark_app import serve
from benchmark_app.execution.cfg import ExecutionCfg
from benchmark_app.execution.served import auth
from benchmark_app.execution.served.address import AddressError, loopback, parse_address
from tests.conftest import ROOT


@pytest.fixture(autouse=True)
def no_token(monkeypatch):
    monkeypatch.delenv(auth.VARIABLE, raising=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--port", "70000"], r"serve: --port 70000: must be from 0 to 65535"),
        (["--max-envs", "0"], r"serve: --max-envs 0: must be from 1 to"),
        (["--max-sessions", "1000"], r"serve: --max-sessions 1000: must be from 1 to 64"),
        (["--logs", "/proc/x"], r"serve: --logs /proc/x: cannot be made"),
        (["--host", "0.0.0.0"], r"serve: --host=0.0.0.0: must be 127.0.0.1, ::1 or localhost; to reach another"),
        ([], r"serve: there is no token; type --token-file FILE .*or set BENCHMARK_APP_TOKEN"),
        (["--token-file", "/dev/null"], r"serve: --token-file=/dev/null: is no regular file"),
        (["--token-file", "/no/such/token"], r"serve: --token-file /no/such/token: cannot be written"),
        (["task.max_efort=1"], r"task.max_efort=1: no such setting; did you mean task.max_effort"),
        (["physics=nope"], r"physics=nope: not one of"),
    ],
)
def test_serve_refuses_what_it_cannot_do_in_one_line(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert serve.serve(["cartpole", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(said, err), err
    assert len(err.strip().splitlines()) == 1


def test_serve_refuses_a_task_that_there_is_not(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert serve.serve(["cartpol"]) == 2
    assert "task=cartpol: not one of" in capsys.readouterr().err


def test_serve_makes_its_token_and_ends_with_status_0_when_it_is_interrupted(tmp_path):
    token = tmp_path / "token"
    command = [sys.executable, "-m", "benchmark_app", "serve", "cartpole", "--token-file", str(token)]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    line = process.stdout.readline()
    assert re.fullmatch(rf"serving cartpole on 127\.0\.0\.1:\d+ \(process {process.pid}\)\n", line)
    assert token.stat().st_mode & 0o777 == 0o600
    secret = token.read_text().strip()
    for shown in ("cmdline", "environ"):
        with open(f"/proc/{process.pid}/{shown}", "rb") as file:
            assert secret.encode() not in file.read()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "stopped; every session is closed\n")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1"])
def test_a_loopback_address_is_one(host):
    assert loopback(host, "x") == host


@pytest.mark.parametrize(
    "host", ["", "0.0.0.0", "::", "10.0.0.1", "example.org", "127.0.0.1.example.org", "2130706433"]
)
def test_every_other_address_is_refused(host):
    with pytest.raises(AddressError, match="SSH tunnel"):
        loopback(host, "x")


@pytest.mark.parametrize("text", ["", "127.0.0.1", "127.0.0.1:", ":x", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:١"])
def test_what_is_no_address_with_a_port_is_refused(text):
    with pytest.raises(AddressError):
        parse_address(text, "x")


def test_addresses_are_read():
    assert parse_address("localhost:5555", "x") == ("127.0.0.1", 5555)
    assert parse_address("[::1]:5555", "x") == ("::1", 5555)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"address": "example.org:5555"}, "address=example.org:5555: must be"),
        ({"address": "127.0.0.1"}, "address=127.0.0.1: must be HOST:PORT"),
        ({"address": "127.0.0.1:5555", "python": "python3"}, "python=python3: the server at execution.address runs"),
    ],
)
def test_settings_of_a_served_run_that_cannot_work_are_refused(settings, said):
    assert said in ExecutionCfg(name="served", **settings).problems()[0]
