"""What the kernel driver and the Fabric Manager own, shared by every process of one simulated machine.

The world is a directory on tmpfs::

    world.db      devices, objects, teams, bindings, references (SQLite, write-ahead log; safe against a kill)
    words         one 32-bit futex word per object: its generation, and what blocked calls sleep on
    memory/ID     one sparse file per physical allocation
    multicast/ID  one empty file per multicast object, for its shareable descriptors

A process refers to an object through one row of ``reference``; the object goes when the last row is gone and no
shareable descriptor is open any more (each holds a shared lock on its own open file description). Objects are numbered by
their makers: the process's number in the upper half, a count in the lower.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import secrets
import shutil
import sqlite3
import tempfile
import threading
from pathlib import Path

from cumulticast.sim import native
from cumulticast.sim.handles import Kind
from cumulticast.sim.machine import Machine, load

SCHEMA_VERSION = 1
SCHEMA = """
create table world(key text primary key, value) without rowid;
create table process(id integer primary key autoincrement, pid integer, node integer);
create table device(id integer primary key, total integer, used integer not null default 0,
                    unaligned integer not null default 0);
create table reference(object integer, process integer, primary key(object, process)) without rowid;
create table allocation(id integer primary key, process integer, size integer, location_type integer,
                        location_id integer, node integer, device integer, handle_types integer, properties blob,
                        exported integer not null default 0);
create table multicast(id integer primary key, process integer, size integer, num_devices integer,
                       handle_types integer, slot integer not null default 0, exported integer not null default 0);
create table team(multicast integer, device integer, primary key(multicast, device)) without rowid;
create table binding(multicast integer, device integer, mc_offset integer, size integer, allocation integer,
                     mem_offset integer, headroom integer, primary key(multicast, device, mc_offset)) without rowid;
create index binding_of_allocation on binding(allocation);
create index slot_taken on multicast(slot) where slot;

-- Book-keeping that belongs to a row comes and goes with the row, in the same statement.
create trigger allocated after insert on allocation begin
    select raise(abort, 'device memory') from device where id = new.device and used + new.size > total;
    insert into reference values(new.id, new.process);
    update device set used = used + new.size where id = new.device;
end;
create trigger freed after delete on allocation begin
    update device set used = used - old.size where id = old.device;
end;
create trigger created after insert on multicast begin
    insert into reference values(new.id, new.process);
end;
create trigger destroyed after delete on multicast begin
    delete from team where multicast = old.id;
end;
create trigger bound after insert on binding begin
    update multicast set slot = 1 where id = new.multicast and not slot;
    update device set unaligned = unaligned + 1 where id = new.device and new.headroom;
end;
create trigger unbound after delete on binding begin
    update device set unaligned = unaligned - 1 where id = old.device and old.headroom;
end;
"""
KINDS: tuple[Kind, ...] = ("memory", "multicast")
TABLES: dict[Kind, str] = {"memory": "allocation", "multicast": "multicast"}
WORDS = 1 << 20
FAULTS_WORD = 0
CALM = 0xFFFF_FFFF


class WorldError(RuntimeError):
    """A world directory cannot be used; the text says which and why. Name another one in CUMULTICAST_WORLD."""


def default_root() -> Path:
    """Answer the directory in which worlds are made: tmpfs where there is one."""
    shm = Path("/dev/shm")
    return shm if shm.is_dir() and os.access(shm, os.W_OK) else Path(tempfile.gettempdir())


class Transaction:
    """``with world.transaction() as db``: all of it, or nothing."""

    __slots__ = ("_connection", "_lock")

    def __init__(self, connection: sqlite3.Connection, lock: threading.RLock) -> None:
        self._connection = connection
        self._lock = lock

    def __enter__(self) -> sqlite3.Connection:
        self._lock.acquire()
        try:
            self._connection.execute("begin immediate")
        except BaseException:
            self._lock.release()
            raise
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._connection.execute("rollback" if kind else "commit")
        finally:
            self._lock.release()


class World:
    """One simulated machine's shared state.

    Every change happens inside ``transaction()``, which one process at a time can be in: a change is whole or
    it has not happened.
    """

    def __init__(self, path: Path, machine: Machine, *, owned: bool) -> None:
        self.path = path
        self._root = str(path)
        self.machine = machine
        self.owned = owned
        self._lock = threading.RLock()
        self._connection = self._connect()
        words = os.open(path / "words", os.O_RDWR | os.O_CLOEXEC)
        self._words = mmap.mmap(words, WORDS * 4)
        os.close(words)
        self._words_address = native.address_of(self._words)
        self._faults: tuple[int, tuple[str, ...]] = (-1, ())
        self.identity = int(self.value("identity"))

    # ---- coming and going

    @classmethod
    def create(cls, machine: Machine, *, profile: str, faults: tuple[str, ...] = (), path: Path | None = None) -> World:
        """Make a new world for ``machine``, in ``path`` or in a directory of its own."""
        if path is None:
            path = Path(tempfile.mkdtemp(prefix="cumulticast-", dir=default_root()))
        else:
            path.mkdir(mode=0o700, parents=True, exist_ok=False)
        for name in KINDS:
            (path / name).mkdir(mode=0o700)
        with open(path / "words", "wb") as words:
            words.truncate(WORDS * 4)
        values = {
            "schema": SCHEMA_VERSION,
            "machine": machine.name,
            "devices": machine.devices_per_node,
            "nodes": machine.nodes,
            "profile": profile,
            "faults": json.dumps(faults),
            "identity": secrets.randbits(62),
        }
        connection = sqlite3.connect(path / "world.db", isolation_level=None)
        connection.execute("pragma journal_mode=wal")
        connection.executescript(SCHEMA)
        connection.executemany("insert into world values(?, ?)", values.items())
        totals = [(index, machine.total_memory) for index in range(machine.device_count)]
        connection.executemany("insert into device(id, total) values(?, ?)", totals)
        connection.close()
        return cls(path, machine, owned=True)

    @classmethod
    def open(cls, path: Path) -> World:
        """Open a world that somebody made."""
        database = path / "world.db"
        if not database.is_file():
            raise WorldError(f"{path} is not a world: it has no world.db")
        connection = sqlite3.connect(database, isolation_level=None)
        try:
            values = dict(connection.execute("select key, value from world"))
        except sqlite3.Error as error:
            raise WorldError(f"{database} cannot be read: {error}") from error
        finally:
            connection.close()
        if values.get("schema") != SCHEMA_VERSION:
            raise WorldError(f"{database} has schema {values.get('schema')}, this version reads {SCHEMA_VERSION}")
        machine = load(values["machine"], devices=values["devices"], nodes=values["nodes"])
        return cls(path, machine, owned=False)

    def close(self) -> None:
        """Leave the world; its owner removes the directory."""
        with self._lock:
            self._connection.close()
            if self.owned:
                shutil.rmtree(self.path, ignore_errors=True)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path / "world.db", isolation_level=None, check_same_thread=False, cached_statements=256, timeout=30
        )
        for pragma in ("synchronous=off", "wal_autocheckpoint=4000", "busy_timeout=30000"):
            connection.execute(f"pragma {pragma}")
        return connection

    # ---- reading and changing

    def transaction(self) -> Transaction:
        """Hold the world's one write lock; commit at the end, roll back on any exception."""
        return Transaction(self._connection, self._lock)

    def change(self, statement: str, values: tuple[object, ...]) -> None:
        """Make one change that is whole by itself."""
        with self._lock:
            self._connection.execute(statement, values)

    def rows(self, query: str, *values: int | str) -> list[tuple[int, ...]]:
        """Answer the rows of a query outside any transaction."""
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    def exists(self, kind: Kind, obj: int) -> bool:
        """Tell whether there is such an object."""
        return bool(self.rows(f"select 1 from {TABLES[kind]} where id = ?", obj))

    def value(self, key: str) -> int | str:
        """Answer one of the world's own values (machine, profile, …)."""
        return self.rows("select value from world where key = ?", key)[0][0]

    # ---- generations: what blocked calls and shadow windows compare

    def word(self, obj: int) -> int:
        """Answer the address of an object's futex word. Objects may share one: then both look when either changes."""
        return self._words_address + 4 * (1 + (obj ^ (obj >> 32) * 0x9E37) % (WORDS - 1))

    def generation(self, obj: int) -> int:
        """Answer how often the object has changed."""
        return native.load_word(self.word(obj))

    def changed(self, obj: int) -> None:
        """Count a change of the object and wake everybody who waits for one."""
        native.add_and_wake(self.word(obj))

    # ---- faults

    @property
    def fault_address(self) -> int:
        """Where the count of fault changes lies."""
        return self._words_address + 4 * FAULTS_WORD

    @property
    def calm(self) -> int:
        """The count of fault changes if no fault is in force; a number it will never have, if one is."""
        return CALM if self.faults else native.load_word(self.fault_address)

    @property
    def faults(self) -> tuple[str, ...]:
        """The fault specifications in force, for every process of the world."""
        generation = native.load_word(self.fault_address)
        if self._faults[0] != generation:
            self._faults = (generation, tuple(json.loads(str(self.value("faults")))))
        return self._faults[1]

    def set_faults(self, specs: tuple[str, ...]) -> None:
        """Replace the fault specifications in force."""
        with self.transaction() as db:
            db.execute("update world set value = ? where key = 'faults'", (json.dumps(specs),))
        native.add_and_wake(self.fault_address)

    # ---- processes and references

    def enter(self, pid: int, node: int) -> int:
        """Register a process and answer its number in this world."""
        with self.transaction() as db:
            cursor = db.execute("insert into process(pid, node) values(?, ?)", (pid, node))
            assert cursor.lastrowid is not None
            return cursor.lastrowid

    def leave(self, process: int) -> None:
        """Forget a process and everything that only it referred to."""
        for kind in KINDS:
            query = f"select object from reference join {TABLES[kind]} on id = object where reference.process = ?"
            for (obj,) in self.rows(query, process):
                self.drop(kind, obj, process)
        with self.transaction() as db:
            db.execute("delete from process where id = ?", (process,))

    def refer(self, db: sqlite3.Connection, obj: int, process: int) -> None:
        """Let a process refer to an object (inside a transaction)."""
        db.execute("insert or ignore into reference values(?, ?)", (obj, process))

    def drop(self, kind: Kind, obj: int, process: int) -> list[int]:
        """Take a process's reference away; answer the multicast objects that changed because memory went."""
        with self.transaction() as db:
            db.execute("delete from reference where object = ? and process = ?", (obj, process))
            touched = self._collect(db, kind, obj)
        for changed in touched:
            self.changed(changed)
        return touched

    # ---- the end of objects

    def path_of(self, kind: Kind, obj: int) -> str:
        """Answer the file of an object; ``kind`` is memory or multicast. (A str: pathlib cost a tenth of a cycle.)"""
        return f"{self._root}/{kind}/{obj}"

    def _collect(self, db: sqlite3.Connection, kind: Kind, obj: int) -> list[int]:
        """Remove an object nobody refers to. A descriptor in flight keeps it; so does, for multicast, memory bound to it."""
        unused = "not exists(select 1 from reference where object = id)"
        if kind == "multicast":
            unused += " and not exists(select 1 from binding where multicast = id)"
        table = TABLES[kind]
        row = db.execute(f"select exported from {table} where id = ? and {unused}", (obj,)).fetchone()
        if row is None or (row[0] and self._descriptor_open(self.path_of(kind, obj))):
            return []
        db.execute(f"delete from {table} where id = ?", (obj,))
        os.unlink(self.path_of(kind, obj))
        return self._detach(db, obj) if kind == "memory" else []

    def _detach(self, db: sqlite3.Connection, memory: int) -> list[int]:
        """Unbind memory that is gone, as the kernel driver does; answer the multicast objects it was bound to."""
        rows = db.execute("delete from binding where allocation = ? returning multicast", (memory,)).fetchall()
        objects = sorted({multicast for (multicast,) in rows})
        for multicast in objects:
            self._collect(db, "multicast", multicast)
        return objects

    def _descriptor_open(self, path: str) -> bool:
        """Tell whether an exported descriptor of the file is still open somewhere."""
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def sweep(self) -> None:
        """Remove exported objects whose last descriptor has been closed since."""
        for kind in KINDS:
            query = f"select id from {TABLES[kind]} where exported and id not in (select object from reference)"
            for (obj,) in self.rows(query):
                with self.transaction() as db:
                    touched = self._collect(db, kind, obj)
                for changed in touched:
                    self.changed(changed)
