"""What the kernel driver and the Fabric Manager own, shared by every process of one simulated machine.

The world is a directory on tmpfs::

    world.db      devices, objects, teams, bindings, references (SQLite, write-ahead log; safe against a kill)
    words         futex words: an object's generation, and what blocked calls sleep on
    lives         a byte for each process, locked while it lives (lives.py)
    turn          whose turn it is to change the world (turns.py)
    memory/ID     one sparse file per physical allocation
    multicast/ID  one empty file per multicast object, for its shareable descriptors

A process refers to an object through one row of ``reference``; the object goes when the last row is gone and no
shareable descriptor is open any more (each holds a shared lock on its own open file description). Objects are numbered
by their makers: the process's number in the upper half, a count in the lower.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import sqlite3
import tempfile
import time
from pathlib import Path

from cumulticast.sim import native, room
from cumulticast.sim.books import WORDS, Transaction, map_words, write_books
from cumulticast.sim.detached import Place
from cumulticast.sim.handles import Kind
from cumulticast.sim.lives import OWNER, Lives
from cumulticast.sim.machine import Machine, load
from cumulticast.sim.rights import WorldError, check, check_directory, read_values, room_text
from cumulticast.sim.schema import KINDS, TABLES, VERSION
from cumulticast.sim.turns import Turns

PREFIX = "cumulticast-"
# Each library that a world has links to, and its names: what programs are linked to, and what some open by name.
LIBRARIES = {"libcuda": ("libcuda.so.1", "libcuda.so"), "libnvml": ("libnvidia-ml.so.1", "libnvidia-ml.so")}
LINKS = tuple(name for names in LIBRARIES.values() for name in names)
FAULTS_WORD = 0  # how often the faults changed
ENTERED_WORD = 1  # how many processes ever entered
OBJECT_WORDS = 2  # where the objects' words begin
CALM = 0xFFFF_FFFF


def default_root() -> Path:
    """Answer the directory in which worlds are made: beside CUMULTICAST_WORLD, else on tmpfs where there is one."""
    beside = Path(os.environ.get("CUMULTICAST_WORLD") or "/").absolute().parent
    return beside if beside != Path("/") and os.access(beside, os.W_OK) else usual_root()


def usual_root() -> Path:
    """Answer the directory in which worlds are made when nobody says where."""
    shm = Path("/dev/shm")
    return shm if shm.is_dir() and os.access(shm, os.W_OK) else Path(tempfile.gettempdir())


class World:
    """One simulated machine's shared state.

    Every change happens inside ``transaction()``, which one process at a time can be in: a change is whole or
    it has not happened.
    """

    def __init__(self, path: Path, machine: Machine, lives: Lives, *, owned: bool) -> None:
        self.path = path
        self._root = str(path)
        self.machine = machine
        self.owned = owned
        self.lives = lives
        self._turns = Turns(path / "turn", self._is_alone)
        self._entered_alone = 0  # the count of entered processes when this one found itself alone; 0: it did not
        self._connection = self._connect()
        if owned:
            room.set_aside_log(path)
        self._words = map_words(self.path)
        self._words_address = native.address_of(self._words)
        self._faults: tuple[int, dict[str, float]] = (-1, {})
        self.identity = int(self.value("identity"))
        self.began = float(self.value("began"))

    # ---- coming and going

    @classmethod
    def create(cls, machine: Machine, *, profile: str, faults: tuple[str, ...] = (), path: Path | None = None) -> World:
        """Make a new world for ``machine``, in ``path`` or in a directory of its own."""
        if path is None:
            path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=default_root()))
        else:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_directory(path)
        try:
            return cls._furnish(path, machine, profile, faults)
        except (OSError, sqlite3.Error) as error:
            text = room_text(path)
            shutil.rmtree(path, ignore_errors=True)
            raise WorldError(f"no world can be made in {path.parent}: {error}; {text}") from error

    @classmethod
    def _furnish(cls, path: Path, machine: Machine, profile: str, faults: tuple[str, ...]) -> World:
        """Make the files of a new world. Its owner lives before there are books: nobody takes it for a dead one's."""
        for name in KINDS:
            (path / name).mkdir(mode=0o700)
        for name in ("lives", "turn", "words", "world.db"):
            os.close(os.open(path / name, os.O_CREAT | os.O_RDWR | os.O_EXCL | os.O_CLOEXEC, 0o600))
        lives = Lives(path / "lives")
        try:
            lives.hold(OWNER)
            room.allocate(path / "words", WORDS * 4)  # they are written through a mapping: never by SIGBUS
            values = {
                "schema": VERSION,
                "machine": machine.name,
                "devices": machine.devices_per_node,
                "nodes": machine.nodes,
                "profile": profile,
                "faults": json.dumps(dict.fromkeys(faults, time.monotonic())),
                "identity": int.from_bytes(os.urandom(8), "little") >> 2,
                "began": time.time(),
            }
            write_books(path, machine, values)
            return cls(path, machine, lives, owned=True)
        except BaseException:
            lives.close()
            raise

    @classmethod
    def open(cls, path: Path) -> World:
        """Open a world that somebody made; only its owner may.

        Raises
        ------
        WorldError
            It is somebody else's, or open to others, or no world, or damaged; the text says which file and why.
        """
        check(path)
        values = read_values(path)
        lives = Lives(path / "lives")
        try:
            machine = load(str(values["machine"]), devices=int(values["devices"]), nodes=int(values["nodes"]))
            return cls(path, machine, lives, owned=False)
        except (OSError, sqlite3.Error, ValueError) as error:
            lives.close()
            raise WorldError(f"the world {path} is damaged: {error}") from error

    def close(self) -> None:
        """Leave the world; its owner removes the directory."""
        self._connection.close()
        self._words.close()
        self._turns.close()
        self.lives.close()
        if self.owned:
            shutil.rmtree(self.path, ignore_errors=True)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path / "world.db", isolation_level=None, check_same_thread=False, cached_statements=256, timeout=30
        )
        for pragma in ("synchronous=off", f"wal_autocheckpoint={room.LOG_PAGES}", "busy_timeout=30000"):
            connection.execute(f"pragma {pragma}")
        return connection

    def transaction(self) -> Transaction:
        """Hold the world's one write lock; commit at the end, roll back on any exception."""
        return Transaction(self._connection, self._turns)

    def change(self, statement: str, values: tuple[object, ...]) -> None:
        """Make one change that is whole by itself."""
        with self._turns:
            self._connection.execute(statement, values)

    def recover(self) -> None:
        """Undo what a signal handler's exception cut off half-way in this thread."""
        self._turns.local.acquire()  # waits for another thread's turn to end, or adds to what is left of this one's
        if self._connection.in_transaction:
            self._connection.execute("rollback")
        self._turns.recover()

    def rows(self, query: str, *values: int | str) -> list[tuple[int, ...]]:
        """Answer the rows of a query, as of now; another thread's open change is waited for."""
        with self._turns.local:
            return self._connection.execute(query, values).fetchall()

    def exists(self, kind: Kind, obj: int) -> bool:
        """Tell whether there is such an object."""
        return bool(self.rows(f"select 1 from {TABLES[kind]} where id = ?", obj))

    def node_of(self, kind: Kind, obj: int) -> int:
        """Answer the node on which an object was made."""
        return self.rows(f"select node from {TABLES[kind]} where id = ?", obj)[0][0]

    def value(self, key: str) -> int | str:
        """Answer one of the world's own values (machine, profile, …)."""
        return self.rows("select value from world where key = ?", key)[0][0]

    # ---- generations: what blocked calls and shadow windows compare

    def word(self, obj: int) -> int:
        """Answer the address of an object's futex word. Objects may share one: then both look when either changes."""
        return self._words_address + 4 * (OBJECT_WORDS + (obj ^ (obj >> 32) * 0x9E37) % (WORDS - OBJECT_WORDS))

    def generation(self, obj: int) -> int:
        """Answer how often the object has changed."""
        return native.load_word(self.word(obj))

    def changed(self, obj: int) -> None:
        """Count a change of the object and wake everybody who waits for one.

        Of a bind or unbind also the change to come is counted, inside its transaction: a process that is killed right
        after that has told all windows. Whoever looks meanwhile waits until things are `settled`.
        """
        native.add_and_wake(self.word(obj))

    def settled(self) -> Turns:
        """``with world.settled():`` nothing changes; each change that was counted is made, or never will be."""
        return self._turns

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
    def faults(self) -> dict[str, float]:
        """The fault specifications in force, for every process of the world, and since when (time.monotonic)."""
        generation = native.load_word(self.fault_address)
        if self._faults[0] != generation:
            self._faults = (generation, json.loads(str(self.value("faults"))))
        return self._faults[1]

    def set_faults(self, specs: tuple[str, ...]) -> None:
        """Replace the fault specifications in force; those that were in force before keep their age."""
        with self.transaction() as db:
            since = {spec: self.faults.get(spec, time.monotonic()) for spec in specs}
            db.execute("update world set value = ? where key = 'faults'", (json.dumps(since),))
            db.execute("delete from world where key = 'first bind'")
        native.add_and_wake(self.fault_address)

    def first_bind(self) -> float:
        """Answer when the first bind since the faults were set was asked for (time.monotonic); now, if this is it."""
        self.change("insert or ignore into world values('first bind', ?)", (time.monotonic(),))
        return float(self.value("first bind"))

    # ---- processes and references

    def enter(self, pid: int, node: int, rank: int | None) -> int:
        """Register a process, alive as of now, and answer its number in this world."""
        self.reap()
        native.add_and_wake(self._entered_address)
        entered = native.load_word(self._entered_address)
        with self.transaction() as db:
            alone = self.owned and not db.execute("select 1 from process").fetchall()
            insert = "insert into process(pid, node, rank, since) values(?, ?, ?, ?)"
            number = db.execute(insert, (pid, node, rank, time.time())).lastrowid
            assert number is not None
            self.lives.hold(number)
        self._entered_alone = entered if alone else 0
        return number

    def _is_alone(self) -> bool:
        """Tell whether nobody else has entered since this process found itself alone in a world of its own."""
        return self._entered_alone != 0 and native.load_word(self._entered_address) == self._entered_alone

    @property
    def _entered_address(self) -> int:
        return self._words_address + 4 * ENTERED_WORD

    def leave(self, process: int) -> list[Place]:
        """Forget a process and everything that only it referred to; answer the binds that ended with its memory."""
        ended = list[Place]()
        for kind in KINDS:
            query = f"select object from reference join {TABLES[kind]} on id = object where reference.process = ?"
            for (obj,) in self.rows(query, process):
                ended += self.drop(kind, obj, process)
        self._remove_strays(process)
        self.change("delete from process where id = ?", (process,))
        self.lives.let_go(process)
        return ended

    def dead(self) -> list[int]:
        """Answer the processes that died without leaving."""
        return [number for (number,) in self.rows("select id from process") if not self.lives.alive(number)]

    def reap(self) -> list[Place]:
        """Clean up after processes that died, as the kernel driver does, and remember them."""
        ended = list[Place]()
        for number in self.dead():
            self.change("insert or ignore into gone select id, pid, rank from process where id = ?", (number,))
            ended += self.leave(number)
        return ended

    def _remove_strays(self, process: int) -> None:
        """Remove files that a process made, or one before it, and died before it could enter them in the books."""
        with self._turns:  # what others begin anew under an old number is in the books then
            living = {number for (number,) in self.rows("select id from process")} - {process}
            for kind in KINDS:
                for name in filter(str.isdecimal, os.listdir(f"{self._root}/{kind}")):
                    if int(name) >> 32 not in living and not self.exists(kind, int(name)):
                        self.remove_file(kind, int(name))

    def remove_file(self, kind: Kind, obj: int) -> None:
        """Remove the file of an object that is not, or not for long, in the books; it may be gone already."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path_of(kind, obj))

    def refer(self, db: sqlite3.Connection, obj: int, process: int) -> None:
        """Let a process refer to an object (inside a transaction)."""
        db.execute("insert or ignore into reference values(?, ?)", (obj, process))

    def drop(self, kind: Kind, obj: int, process: int) -> list[Place]:
        """Take a process's reference away; answer the binds that ended because memory went."""
        with self.transaction() as db:
            db.execute("delete from reference where object = ? and process = ?", (obj, process))
            detached = self._collect(db, kind, obj)
        self._changed(detached)
        return detached

    def _changed(self, detached: list[Place]) -> None:
        for obj in {place[0] for place in detached}:
            self.changed(obj)

    def binds_left(self, obj: int) -> int:
        """Count the binds of a multicast object that nobody refers to any more."""
        query = (
            "select count(*) from binding where multicast = ? and not exists(select 1 from reference where object = ?)"
        )
        return self.rows(query, obj, obj)[0][0]

    # ---- the end of objects

    def path_of(self, kind: Kind, obj: int) -> str:
        """Answer the file of an object; ``kind`` is memory or multicast. (A str: pathlib cost a tenth of a cycle.)"""
        return f"{self._root}/{kind}/{obj}"

    def _collect(self, db: sqlite3.Connection, kind: Kind, obj: int) -> list[Place]:
        """Remove an object nobody refers to. Descriptors in flight keep it; bound memory keeps a multicast one."""
        unused = "not exists(select 1 from reference where object = id)"
        if kind == "multicast":
            unused += " and not exists(select 1 from binding where multicast = id)"
        table = TABLES[kind]
        delete = f"delete from {table} where id = ? and not exported and {unused} returning 1"
        if not db.execute(delete, (obj,)).fetchall():
            sent = db.execute(f"select 1 from {table} where id = ? and exported and {unused}", (obj,)).fetchall()
            if not sent or self._descriptor_open(self.path_of(kind, obj)):
                return []
            db.execute(f"delete from {table} where id = ?", (obj,))
        self.remove_file(kind, obj)  # gone, if a process died right here and did not commit
        return self._detach(db, obj) if kind == "memory" else []

    def _detach(self, db: sqlite3.Connection, memory: int) -> list[Place]:
        """Unbind memory that is gone, as the kernel driver does; answer where it was bound."""
        query = "delete from binding where allocation = ? returning multicast, device, mc_offset"
        places: list[Place] = db.execute(query, (memory,)).fetchall()
        for multicast in sorted({place[0] for place in places}):
            self._collect(db, "multicast", multicast)
            self.changed(multicast)
        return places

    def _descriptor_open(self, path: str) -> bool:
        """Tell whether an exported descriptor of the file is still open somewhere."""
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def sweep(self) -> tuple[int, list[Place]]:
        """Remove what the dead left, and exported objects whose last descriptor was closed; nobody is told of that.

        Answers how many went, and the binds that ended with them.
        """
        count, ended = len(self.dead()), self.reap()
        for kind in KINDS:
            query = f"select id from {TABLES[kind]} where exported and id not in (select object from reference)"
            for (obj,) in self.rows(query):
                with self.transaction() as db:
                    detached = self._collect(db, kind, obj)
                self._changed(detached)
                count, ended = count + (not self.exists(kind, obj)), ended + detached
        return count, ended
