"""The cluster of the tests in this folder: started once, stopped at the end."""

import os

import pytest

from tests.slurm.cluster import Cluster, missing


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    if lacking := missing():
        pytest.fail(
            f"{', '.join(lacking)}: not installed; on Debian or Ubuntu type: "
            "apt-get install --no-install-recommends slurm-wlm munge slurmdbd mariadb-server"
        )
    cluster = Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        cluster.start()
        before = dict(os.environ)
        # These tests may themselves be a job of another SLURM.
        for name in [name for name in os.environ if name.startswith("SLURM")]:
            del os.environ[name]
        os.environ.update(cluster.environment)
        yield cluster
        os.environ.clear()
        os.environ.update(before)
    finally:
        cluster.stop()
