"""The tables of world.db. Book-keeping that belongs to a row comes and goes with it, by trigger, in one statement."""

from __future__ import annotations

from cumulticast.sim.handles import Kind

VERSION = 3
KINDS: tuple[Kind, ...] = ("memory", "multicast")
TABLES: dict[Kind, str] = {"memory": "allocation", "multicast": "multicast"}

TABLES_SQL = """
create table world(key text primary key, value) without rowid;
create table device(id integer primary key, total integer, used integer not null default 0,
                    unaligned integer not null default 0);

-- Who is here. Whether a process still lives is asked of the kernel (lives.py), never believed from a row.
-- stuck: every thread of it that uses the driver waits. hopeless: somebody found that all wait.
-- gone: who died without leaving, and ranks that left. rank: who `run` started.
create table process(id integer primary key autoincrement, pid integer, node integer, rank integer, since real,
                     stuck integer not null default 0);
create table waiting(process integer, thread integer, call text, object integer, since real,
                     hopeless integer not null default 0, primary key(process, thread)) without rowid;
create table gone(process integer primary key, pid integer, rank integer);
create table rank(rank integer primary key, pid integer, node integer, running integer);

create table reference(object integer, process integer, primary key(object, process)) without rowid;
create table allocation(id integer primary key, process integer, size integer, location_type integer,
                        location_id integer, node integer, device integer, handle_types integer, properties blob,
                        exported integer not null default 0);
create table multicast(id integer primary key, process integer, size integer, num_devices integer,
                       handle_types integer, node integer, slot integer not null default 0,
                       exported integer not null default 0);
create table team(multicast integer, device integer, primary key(multicast, device)) without rowid;
create table binding(multicast integer, device integer, mc_offset integer, size integer, allocation integer,
                     mem_offset integer, headroom integer, primary key(multicast, device, mc_offset)) without rowid;
create index binding_of_allocation on binding(allocation);
create index reference_of_process on reference(process);
create index slot_taken on multicast(slot) where slot;

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
create trigger joined after insert on team begin
    update waiting set hopeless = 0 where object = new.multicast;
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
create trigger left_world after delete on process begin
    delete from waiting where process = old.id;
    insert or ignore into gone select old.id, old.pid, old.rank where old.rank is not null;
end;
"""
