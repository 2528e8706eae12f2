"""Staying awake ends as soon as there is something, and in any case."""

import socket
import threading
import time

import pytest

from benchmark_app.execution.awake import Watch


@pytest.fixture
def pair():
    here, there = socket.socketpair()
    with here, there:
        yield here, there


def took(watch, longest_s):
    begin = time.perf_counter()
    watch.stay_awake(longest_s)
    return time.perf_counter() - begin


def test_it_ends_at_once_where_something_is_there_and_leaves_it_there(pair):
    here, there = pair
    there.send(b"x")
    assert took(Watch(here), 60) < 30
    assert here.recv(1) == b"x"


def test_it_ends_when_something_comes(pair):
    here, there = pair
    timer = threading.Timer(0.05, there.send, [b"x"])
    timer.start()
    assert 0.04 < took(Watch(here), 60) < 30
    timer.join()


def test_it_ends_when_the_other_end_closes(pair):
    here, there = pair
    there.close()
    assert took(Watch(here), 60) < 30


def test_it_ends_when_nothing_comes(pair):
    assert 0.05 <= took(Watch(pair[0]), 0.05) < 30
