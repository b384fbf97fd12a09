"""Machines of several nodes: what a rank sees of them, what crosses nodes, cliques and cluster UUIDs."""

from __future__ import annotations

from pathlib import Path

import pytest
from on_ranks import on_ranks

pytestmark = pytest.mark.timeout(60)
RACK = ("--machine", "gb200-nvl72", "--nodes", "2", "--devices", "2")


def test_devices_have_the_ordinals_of_their_node_and_names_of_their_own() -> None:
    done = on_ranks(
        """
        driver.init(0)
        count = driver.device_get_count()
        tell(count=count, uuids=[bytes(driver.device_get_uuid_v2(d).bytes).hex() for d in range(count)],
             beyond=status(driver.device_get, count))
        """,
        2,
        *RACK,
    )
    assert (done.code, done.each("count"), done.each("beyond")) == (0, [2, 2], [101, 101]), done.err
    uuids = [uuid for pair in done.each("uuids") for uuid in pair]
    assert len(set(uuids)) == 4


CLIQUES = """
    driver.init(0)
    count = driver.device_get_count()
    tell(uuid=[bytes(driver.device_get_fabric_cluster_uuid(d).bytes).hex() for d in range(count)],
         cliques=[[(int(c.type), int(c.id)) for c in driver.device_get_clique_info(d)] for d in range(count)])
"""


def test_all_nodes_are_one_clique_of_one_cluster() -> None:
    done = on_ranks(CLIQUES, 2, *RACK)
    assert done.code == 0, done.err
    uuids = {uuid for pair in done.each("uuid") for uuid in pair}
    assert len(uuids) == 1 and uuids != {"00" * 16}
    cliques = {str(clique) for pair in done.each("cliques") for clique in pair}
    assert len(cliques) == 1


def test_cliques_split_the_nodes_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    done = on_ranks(
        CLIQUES
        + """
    mc = multicast(3, types=FABRIC) if RANK == 0 else from_fabric(get("object"))
    if RANK == 0:
        driver.multicast_add_device(mc, 0)
        put("object", fabric_handle(mc))
        tell(add=status(driver.multicast_add_device, mc, 1))
    else:
        tell(add=status(driver.multicast_add_device, mc, 0))
    meet("end")
    """,
        2,
        *RACK,
        "--fault",
        "cliques=2,2",
        meeting=tmp_path,
        CUDA_LOG_FILE="stderr",
    )
    assert (done.code, done.each("add")) == (0, [0, 101]), done.err
    first, second = (set(map(str, pair)) for pair in done.each("cliques"))
    assert len(first) == len(second) == 1 and first != second
    assert "clique" in done.err


def test_fabric_handles_cross_nodes_and_the_team_is_of_both(tmp_path: Path) -> None:
    done = on_ranks(
        """
        driver.init(0)
        mc = multicast(4, types=FABRIC) if RANK == 0 else from_fabric(get("object"))
        if RANK == 0: put("object", fabric_handle(mc))
        driver.multicast_add_device(mc, int(os.environ["LOCAL_RANK"]))
        tell(status=bound(mc, int(os.environ["LOCAL_RANK"]), FABRIC))
        meet("bound")
        import sqlite3
        with sqlite3.connect(f"file:{WORLD}/world.db?mode=ro", uri=True) as db:
            tell(team=[d for (d,) in db.execute("select device from binding order by device")])
        db.close()
        meet("end")
        """,
        4,
        *RACK,
        meeting=tmp_path,
    )
    assert (done.code, done.each("status")) == (0, [0] * 4), done.err
    assert done.each("team") == [[0, 1, 2, 3]] * 4


@pytest.mark.parametrize(("ranks", "node", "answer"), [(4, 0, 0), (4, 1, 1)])
def test_descriptors_stay_on_their_node(tmp_path: Path, ranks: int, node: int, answer: int) -> None:
    """A descriptor opened through /proc, as any process of the same host could: across nodes it is refused, MC609."""
    importer = 1 if node == 0 else 2
    done = on_ranks(
        f"""
        driver.init(0)
        if RANK == 0:
            fd = driver.mem_export_to_shareable_handle(memory(types=FD), FD, 0)
            put("fd", f"{{os.getpid()}} {{fd}}".encode())
        elif RANK == {importer}:
            pid, fd = get("fd").split()
            here = os.open(f"/proc/{{int(pid)}}/fd/{{int(fd)}}", os.O_RDWR)
            tell(status=status(driver.mem_import_from_shareable_handle, here, FD), node=os.environ["CUMULTICAST_NODE"])
        meet("end")
        """,
        ranks,
        *RACK,
        meeting=tmp_path,
        CUDA_LOG_FILE="stderr",
    )
    assert done.each("node") == [str(node)]
    assert bool(done.each("status")[0]) is bool(answer), done.err
    assert ("MC609" in done.err) is bool(answer), done.err


def test_without_channels_no_fabric_handle_is_made() -> None:
    done = on_ranks("driver.init(0); tell(status=status(multicast, 2, STEP, FABRIC))", 1, *RACK, "--fault", "imex=none")
    assert done.each("status") == [800]
