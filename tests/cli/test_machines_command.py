"""`cumulticast machines`: every preset, and every value of one with its evidence."""

from command_line import answered_json, cumulticast

from cumulticast.sim.machine import load, names
from cumulticast.sim.presets import KINDS, attribute_numbers


def test_the_list_says_which_machines_have_multicast() -> None:
    rows = {line.split()[0]: line for line in cumulticast("machines").stdout.splitlines() if line[:1].strip()}
    assert set(names()) <= set(rows)
    assert " yes " in rows["hgx-h100-8"]
    assert " no " in rows["pcie-h100-2"]
    assert "18 x 4" in rows["gb200-nvl72"]


def test_one_machine_is_shown_with_the_evidence_of_each_value() -> None:
    lines = cumulticast("machines", "h200-vm-1").stdout.splitlines()
    row = next(line.split() for line in lines if line.startswith("driver_version"))
    assert row == ["driver_version", "13000", "recorded"]
    assert any(line.startswith("MULTICAST_SUPPORTED") for line in lines)


def test_json_gives_every_attribute_its_number_value_and_source() -> None:
    document = answered_json("machines", "hgx-h100-8", "--json")
    (machine,) = document["machines"]
    assert (document["schema"], machine["devices"], machine["multicast"]) == (1, 8, True)
    evidence = load("hgx-h100-8").evidence
    assert len(machine["facts"]) + len(machine["attributes"]) == len(evidence)
    for name, attribute in machine["attributes"].items():
        fact = evidence[f"attributes.{name}"]
        assert attribute == {
            "number": attribute_numbers()[name],
            "value": fact.value,
            "evidence": fact.evidence,
            "source": fact.source,
        }
    assert {fact["evidence"] for fact in machine["facts"].values()} <= set(KINDS)


def test_json_of_all_machines() -> None:
    machines = answered_json("machines", "--json")["machines"]
    assert [machine["name"] for machine in machines] == list(names())


def test_an_unknown_machine_is_a_usage_error_with_the_nearest_name() -> None:
    done = cumulticast("machines", "hgx-h100")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nearest hgx-h100-8" in done.stderr
