"""Look into the simulated machine's own books, by SQL: what the model believes must be what is written there."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

TABLES = ("process", "waiting", "device", "reference", "allocation", "multicast", "team", "binding")
#: What `expect_world.picture` says of each; each row is told in whole.
COLUMNS = {
    "process": "id, rank, node from process",
    "waiting": "process, object from waiting",
    "device": "id, used, unaligned from device",
    "reference": "object, process from reference",
    "allocation": "id, size, location_type, location_id, node, device, handle_types from allocation",
    "multicast": "id, size, num_devices, handle_types, node, slot from multicast",
    "team": "multicast, device from team",
    "binding": "multicast, device, mc_offset, size, allocation, mem_offset, headroom from binding",
}


class Books:
    """One more, read-only connection to a world."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = sqlite3.connect(f"file:{self.path}/world.db?mode=ro", uri=True)
        self.totals = [total for (total,) in self.rows("select total from device order by id")]

    def close(self) -> None:
        self._connection.close()

    def rows(self, query: str, *values: int) -> list[tuple]:
        return self._connection.execute(query, values).fetchall()

    def everything(self) -> tuple:
        """Answer all rows of all tables and all files: two equal answers mean that nothing has changed."""
        tables = tuple(tuple(sorted(self.rows(f"select * from {table}"), key=repr)) for table in TABLES)
        return tables, tuple(self.files())

    def files(self) -> list[str]:
        return sorted(
            f"{p.parent.name}/{p.name}" for kind in ("memory", "multicast") for p in (self.path / kind).iterdir()
        )

    def newest(self, table: str, process: int) -> int:
        """Answer the number of what a process made last."""
        return max(n for (n,) in self.rows(f"select id from {table}") if n >> 32 == process)

    def processes(self) -> set[int]:
        """Answer the processes, by their numbers."""
        return {number for (number,) in self.rows("select id from process")}

    def picture(self) -> dict[str, Any]:
        """Answer all that the model knows of, as it is written here."""
        tables: dict[str, Any] = {table: set(self.rows(f"select {columns}")) for table, columns in COLUMNS.items()}
        return tables | {"files": set(self.files())}

    def contents(self, memory: int) -> bytes:
        """Answer the bytes of an allocation."""
        return (self.path / "memory" / str(memory)).read_bytes()
