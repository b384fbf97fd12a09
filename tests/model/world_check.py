"""Look into the simulated machine's own books, by SQL: what the model believes must be what is written there."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

import cumulticast.sim as sim

TABLES = ("device", "reference", "allocation", "multicast", "team", "binding")


class Books:
    """A second, read-only connection to the world of the running machine."""

    def __init__(self) -> None:
        self.path = Path(sim.current().world.path)
        self._connection = sqlite3.connect(f"file:{self.path}/world.db?mode=ro", uri=True)

    def close(self) -> None:
        self._connection.close()

    def rows(self, query: str) -> list[tuple]:
        return self._connection.execute(query).fetchall()

    def everything(self) -> tuple:
        """Answer all rows of all tables and all files: two equal answers mean that nothing has changed."""
        tables = tuple(tuple(sorted(self.rows(f"select * from {table}"), key=repr)) for table in TABLES)
        return tables, tuple(self.files())

    def files(self) -> list[str]:
        return sorted(
            f"{p.parent.name}/{p.name}" for kind in ("memory", "multicast") for p in (self.path / kind).iterdir()
        )

    def allocations(self) -> Counter:
        return Counter(self.rows("select size, location_type, location_id from allocation"))

    def objects(self) -> Counter:
        """Count objects by size, devices wanted, team and binds."""
        found = Counter()
        for number, size, devices in self.rows("select id, size, num_devices from multicast"):
            team = tuple(d for (d,) in self.rows(f"select device from team where multicast = {number} order by device"))
            columns = "device, mc_offset, size, mem_offset, headroom"
            query = f"select {columns} from binding where multicast = {number} order by device, mc_offset"
            found[size, devices, team, tuple(self.rows(query))] += 1
        return found

    def assert_empty(self) -> None:
        """Everything was given back: no row, no file, no byte in use."""
        for table in TABLES[1:]:
            assert self.rows(f"select * from {table}") == [], table
        assert self.files() == []
        assert self.rows("select * from device where used or unaligned") == []
