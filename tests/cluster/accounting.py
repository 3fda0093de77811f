"""Slurm's accounting: its daemon on a MariaDB of its own, with an account whose hours are used up."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.faults.parts import Part, free_port
from tests.waiting import wait_for

DAEMON = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
DbdHost=localhost
DbdPort={port}
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database_port}
StorageUser=slurm
StoragePass=slurm
StorageLoc=accounting
SlurmUser=root
LogFile={folder}/accounting.log
PidFile={folder}/accounting.pid
"""
CONTROLLER = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge/socket
AccountingStorageEnforce=limits,qos
"""
# As `sacctmgr dump` writes it.
ACCOUNTS = """
Cluster - 'lab'
Parent - 'root'
User - 'root':DefaultAccount='funded'
Account - 'funded'
Account - 'short'
Account - 'spent':GrpTRESMins=cpu=0
Parent - 'funded'
User - 'root':DefaultAccount='funded'
Parent - 'short'
User - 'root'
Parent - 'spent'
User - 'root'
"""


class Accounting:
    """The database, the daemon, and the lines by which a controller finds them."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder, self._environment = folder, environment
        port, database_port = free_port(), free_port()
        self.configuration = CONTROLLER.format(folder=folder, port=port)
        settings = folder / "slurmdbd.conf"
        settings.write_text(DAEMON.format(folder=folder, port=port, database_port=database_port))
        settings.chmod(0o600)
        (folder / "grant.sql").write_text("GRANT ALL ON *.* TO 'slurm'@'127.0.0.1' IDENTIFIED BY 'slurm';\n")
        data = [f"--datadir={folder}/mariadb", "--user=root"]
        self._install = ["mariadb-install-db", "--no-defaults", *data, "--skip-test-db"]
        database = ["mariadbd", "--no-defaults", *data, f"--socket={folder}/mariadb.sock", f"--port={database_port}"]
        database += [
            "--bind-address=127.0.0.1",
            f"--init-file={folder}/grant.sql",
            "--innodb-flush-log-at-trx-commit=0",
        ]
        self._database = Part("mariadb-output", folder, database, dict(os.environ))
        self._daemon = Part("accounting-output", folder, ["slurmdbd", "-D"], environment)

    def start(self) -> None:
        """Start both, and make the accounts; munge answers already."""
        subprocess.run(self._install, check=True, capture_output=True)
        self._database.start()
        wait_for(lambda: "ready for connections" in self._database.text(), 120, self._database.text, 0.05)
        self._daemon.start()
        wait_for(lambda: self._manage("show", "cluster"), 120, self._daemon.text, 0.1)
        accounts = self._folder / "accounts"
        accounts.write_text(ACCOUNTS.lstrip())
        assert self._manage("load", str(accounts)), "the accounts are made"

    def _manage(self, *argv: str) -> bool:
        command = ["sacctmgr", "--immediate", "--noheader", *argv]
        return subprocess.run(command, env=self._environment, check=False, capture_output=True).returncode == 0

    def stop(self) -> None:
        """End both."""
        for part in (self._daemon, self._database):
            part.end()
